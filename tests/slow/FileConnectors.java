import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.file.FileStreamSinkConnector;
import org.apache.kafka.connect.file.FileStreamSinkTask;
import org.apache.kafka.connect.file.FileStreamSourceConnector;
import org.apache.kafka.connect.file.FileStreamSourceTask;

/** The released connectors of files, but for their version, which those of 4.3 cannot find out in a worker of 4.4. */
public class FileConnectors {
    private static final String VERSION = "1";

    public static class Source extends FileStreamSourceConnector {
        @Override
        public String version() {
            return VERSION;
        }

        @Override
        public Class<? extends Task> taskClass() {
            return SourceTask.class;
        }
    }

    public static class SourceTask extends FileStreamSourceTask {
        @Override
        public String version() {
            return VERSION;
        }
    }

    public static class Sink extends FileStreamSinkConnector {
        @Override
        public String version() {
            return VERSION;
        }

        @Override
        public Class<? extends Task> taskClass() {
            return SinkTask.class;
        }
    }

    public static class SinkTask extends FileStreamSinkTask {
        @Override
        public String version() {
            return VERSION;
        }
    }
}
