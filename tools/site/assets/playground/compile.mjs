// Compiles Python files for the Python of the browser: node compile.mjs FOLDER_OF_PYODIDE IN.zip OUT.zip
// The output holds a .pyc in the place of every .py but lazy doors, and all other files as they are; equal input gives equal bytes.

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, source, target] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(path.join(folder, "pyodide.mjs")).href);
const python = await loadPyodide({ indexURL: `${path.resolve(folder)}/` });
python.FS.writeFile("/in.zip", new Uint8Array(fs.readFileSync(source)));
python.runPython(`
import importlib.util, marshal, zipfile

FIXED = (1980, 1, 1, 0, 0, 0)
UNCHECKED = (1).to_bytes(4, "little")
"The header of a .pyc whose source nobody looks for."

DOOR = b"lazy_names(__name__)"
"A package that reads its own source for the names that it hands out (protocols.named_modules)."

with zipfile.ZipFile("/in.zip") as given, zipfile.ZipFile("/out.zip", "w", zipfile.ZIP_DEFLATED) as made:
    for name in sorted(given.namelist()):
        content = given.read(name)
        if name.endswith(".py") and DOOR not in content:
            code = compile(content, name, "exec", dont_inherit=True)
            header = importlib.util.MAGIC_NUMBER + UNCHECKED + importlib.util.source_hash(content)
            content = header + marshal.dumps(code)
            name += "c"
        made.writestr(zipfile.ZipInfo(name, FIXED), content, zipfile.ZIP_DEFLATED)
`);
fs.writeFileSync(target, python.FS.readFile("/out.zip"));
