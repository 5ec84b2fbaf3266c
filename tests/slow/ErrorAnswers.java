import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Scanner;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;

/** Reads lines "KEY VERSION ERROR BODY" (the body of a request, in hexadecimal) and prints the body of the answer with which
 *  Kafka tells the error. */
public class ErrorAnswers {
    public static void main(String[] arguments) {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split(" ");
            short version = Short.parseShort(words[1]);
            if (version > ApiKeys.forId(Integer.parseInt(words[0])).latestVersion()) {
                System.out.println("-"); // this Kafka has no such version
                continue;
            }
            ByteBuffer body = ByteBuffer.wrap(HexFormat.of().parseHex(words.length > 3 ? words[3] : ""));
            AbstractRequest request = AbstractRequest.parseRequest(
                ApiKeys.forId(Integer.parseInt(words[0])), version, new ByteBufferAccessor(body)).request;
            AbstractResponse answer = request.getErrorResponse(0, Errors.valueOf(words[2]).exception());
            ByteBuffer told = MessageUtil.toByteBufferAccessor(answer.data(), version).buffer();
            byte[] bytes = new byte[told.remaining()];
            told.get(bytes);
            System.out.println(HexFormat.of().formatHex(bytes));
        }
    }
}
