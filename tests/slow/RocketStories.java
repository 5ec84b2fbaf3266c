import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import com.alibaba.fastjson.parser.Feature;
import com.alibaba.fastjson.serializer.SerializerFeature;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import javassist.ClassPool;
import javassist.CodeConverter;
import javassist.CtClass;
import javassist.CtMethod;
import javassist.Loader;
import javassist.LoaderClassPath;
import javassist.Translator;

/**
 * Plays traces on RocketMQ's released classes, those on the class path: whole groups (`RocketGroup`) and single tables of
 * brokers and name servers (`RocketTables`). Reads a trace a line (format: tests/golden/rocketmq/FORMAT-traces.md) and
 * writes it with what the classes answered. Time is virtual: their calls of System.currentTimeMillis() are turned to
 * `Clock` while they are loaded.
 */
public final class RocketStories {
    /** Virtual time, ms since 1970. */
    public static final class Clock {
        static final long START = 1_700_000_000_000L;
        static long now = START;

        public static long millis() {
            return now;
        }
    }

    /** One component of a trace. */
    abstract static class Component {
        /** Performs the step and writes result, effects and state into it. */
        abstract void perform(JSONObject step) throws Exception;

        /** Lists in text order, as the format has them. */
        static JSONArray sorted(JSONArray records) {
            records.sort((left, right) -> text(left).compareTo(text(right)));
            return records;
        }

        static String text(Object value) {
            return value instanceof String ? "\"" + value + "\"" : JSON.toJSONString(value, SerializerFeature.WriteMapNullValue);
        }

        static JSONArray list(Object... items) {
            JSONArray made = new JSONArray();
            for (Object item : items) {
                made.add(item);
            }
            return made;
        }
    }

    /** Turns calls of the system's clock into calls of ours. */
    private static final class Redirects implements Translator {
        private CodeConverter converter;

        @Override
        public void start(ClassPool pool) throws javassist.NotFoundException, javassist.CannotCompileException {
            CtMethod ours = pool.get("RocketStories$Clock").getDeclaredMethod("millis");
            CtMethod theirs = pool.get("java.lang.System").getDeclaredMethod("currentTimeMillis");
            converter = new CodeConverter();
            converter.redirectMethodCall(theirs, ours);
        }

        @Override
        public void onLoad(ClassPool pool, String name) throws javassist.NotFoundException, javassist.CannotCompileException {
            if (name.startsWith("org.apache.rocketmq.") && !name.startsWith("org.apache.rocketmq.logging.")) {
                CtClass loaded = pool.get(name);
                loaded.instrument(converter);
            }
        }
    }

    public static void main(String[] arguments) throws Throwable {
        ClassPool pool = ClassPool.getDefault();
        pool.insertClassPath(new LoaderClassPath(RocketStories.class.getClassLoader()));
        Loader loader = new Loader(pool);
        loader.addTranslator(pool, new Redirects());
        Thread.currentThread().setContextClassLoader(loader);
        loader.run("RocketStories$Played", arguments);
        System.exit(0);
    }

    /** What runs with the turned clock. */
    public static final class Played {
        public static void main(String[] arguments) throws Exception {
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JSONObject trace = JSON.parseObject(line, Feature.OrderedField);
                Clock.now = Clock.START;
                play(trace);
                String told = JSON.toJSONString(trace, SerializerFeature.WriteMapNullValue, SerializerFeature.DisableCircularReferenceDetect);
                System.out.println("TRACE " + told);
            }
            System.out.flush();
        }

        private static void play(JSONObject trace) throws Exception {
            JSONObject config = trace.getJSONObject("config");
            String name = trace.getString("component");
            Component component = name.equals("group") ? new RocketGroup(config) : RocketTables.of(name, config);
            JSONArray steps = trace.getJSONArray("steps");
            for (int number = 0; number < steps.size(); number++) {
                JSONObject step = steps.getJSONObject(number);
                step.put("step", number);
                step.put("at_ms", Clock.now - Clock.START);
                if (step.getString("op").equals("advance")) {
                    Clock.now += step.getLongValue("ms");
                } else {
                    component.perform(step);
                }
            }
        }
    }
}
