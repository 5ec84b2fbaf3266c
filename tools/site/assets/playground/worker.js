// The engine, away from the page: Python, our packages, and one question at a time.

let python = null;
let bridge = null;

const tell = (what, more = {}) => postMessage({ what, ...more });

async function begin({ base }) {
  const fetched = (name) => fetch(new URL(name, base)).then((answer) => {
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    return answer.arrayBuffer();
  });
  // What is unpacked later comes while Python starts.
  const archives = ["pydantic_core.whl", "engine.zip"].map(fetched);
  archives.forEach((each) => each.catch(() => undefined));
  const { loadPyodide } = await import(new URL("pyodide.mjs", base).href);
  python = await loadPyodide({ indexURL: new URL("./", base).href });
  tell("state", { text: "Python is there; the engine is loaded" });
  const place = python.runPython("import sysconfig; sysconfig.get_path('purelib')");
  for (const archive of archives) python.unpackArchive(await archive, "zip", { extractDir: place });
  bridge = python.pyimport("bridge");
  tell("ready");
}

function answer({ number, ask, given }) {
  const pages = bridge[ask](...given);
  for (const found of pages) {
    tell("answer", { number, ...found.toJs({ dict_converter: Object.fromEntries }) });
    found.destroy();
  }
  pages.destroy();
  tell("done", { number });
}

onmessage = async ({ data }) => {
  try {
    if (data.base) await begin(data);
    else answer(data);
  } catch (error) {
    tell("failed", { number: data.number, text: String(error.message ?? error).trim().split("\n").pop() });
  }
};
