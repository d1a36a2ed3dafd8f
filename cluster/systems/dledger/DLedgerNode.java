import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.openmessaging.storage.dledger.DLedgerConfig;
import io.openmessaging.storage.dledger.DLedgerServer;
import io.openmessaging.storage.dledger.MemberState;
import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import io.openmessaging.storage.dledger.exception.DLedgerException;
import io.openmessaging.storage.dledger.store.DLedgerStore;
import java.io.FileReader;
import java.io.IOException;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Executors;

/**
 * A node: DLedger's own server, and an observer that tells over HTTP what the node itself knows and holds.
 *
 * DLedger is a library, and later versions bring no program. What differs between versions is looked up by name.
 * The observer asks no other node and changes nothing.
 */
public class DLedgerNode {
    private static final int OBSERVER_THREADS = 2;

    private final DLedgerConfig config = new DLedgerConfig();
    private final Properties settings = new Properties();
    private DLedgerServer server;

    /** Arguments: the file with the settings, the address and the port of the observer. */
    public static void main(String[] args) throws Exception {
        new DLedgerNode().serve(args[0], args[1], Integer.parseInt(args[2]));
    }

    private void serve(String file, String address, int port) throws Exception {
        try (FileReader reader = new FileReader(file)) {
            settings.load(reader);
        }
        for (String name : settings.stringPropertyNames()) {
            set(name, settings.getProperty(name));
        }
        server = new DLedgerServer(config);
        HttpServer observer = HttpServer.create(new InetSocketAddress(address, port), 0);
        observer.setExecutor(Executors.newFixedThreadPool(OBSERVER_THREADS));
        observer.createContext("/state", exchange -> answer(exchange, this::state));
        observer.createContext("/entries", exchange -> answer(exchange, () -> entries(exchange)));
        server.startup();
        observer.start();
        System.out.println("DLedger serves");
    }

    private void set(String name, String value) throws Exception {
        for (Method method : DLedgerConfig.class.getMethods()) {
            if (method.getName().equals("set" + capital(name)) && method.getParameterCount() == 1) {
                method.invoke(config, converted(value, method.getParameterTypes()[0]));
                return;
            }
        }
        throw new IllegalArgumentException("this version of DLedger has no setting " + name);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Object converted(String value, Class<?> type) {
        if (type == int.class) {
            return Integer.parseInt(value);
        }
        if (type == long.class) {
            return Long.parseLong(value);
        }
        if (type == float.class) {
            return Float.parseFloat(value);
        }
        if (type == boolean.class) {
            return Boolean.parseBoolean(value);
        }
        return type.isEnum() ? Enum.valueOf((Class) type, value) : value;
    }

    private Object shown(String name) throws Exception {
        try {
            return DLedgerConfig.class.getMethod("get" + capital(name)).invoke(config);
        } catch (NoSuchMethodException none) {
            return DLedgerConfig.class.getMethod("is" + capital(name)).invoke(config);
        }
    }

    private static String capital(String name) {
        return Character.toUpperCase(name.charAt(0)) + name.substring(1);
    }

    private interface Telling {
        String tell() throws Exception;
    }

    private static void answer(HttpExchange exchange, Telling telling) throws IOException {
        int status = 200;
        String text;
        try {
            text = telling.tell();
        } catch (Exception problem) {
            status = 500;
            text = problem.toString();
        }
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    /** Role, term and leader of one moment; how far the log goes; the settings in effect; the jar. */
    private String state() throws Exception {
        MemberState member = server.getMemberState();
        StringBuilder out = new StringBuilder("{");
        synchronized (member) {
            out.append("\"role\":\"").append(member.getRole()).append("\",\"term\":").append(member.currTerm());
            out.append(",\"leader\":").append(quoted(member.getLeaderId()));
        }
        out.append(",\"begin\":").append(begin()).append(",\"end\":").append(server.getdLedgerStore().getLedgerEndIndex());
        out.append(",\"committed\":").append(committed()).append(",\"jar\":");
        out.append(quoted(DLedgerServer.class.getProtectionDomain().getCodeSource().getLocation().getPath()));
        out.append(",\"settings\":{");
        String comma = "";
        for (String name : settings.stringPropertyNames()) {
            out.append(comma).append(quoted(name)).append(":").append(quoted(String.valueOf(shown(name))));
            comma = ",";
        }
        return out.append("}}").toString();
    }

    /** So many entries from an index on, to the end of this node's log or to what it knows to be committed. */
    private String entries(HttpExchange exchange) throws Exception {
        Map<String, String> asked = new HashMap<>();
        for (String pair : exchange.getRequestURI().getQuery().split("&")) {
            asked.put(pair.split("=")[0], pair.split("=")[1]);
        }
        DLedgerStore store = server.getdLedgerStore();
        long committed = committed();
        long end = store.getLedgerEndIndex();
        long last = asked.get("to").equals("committed") ? Math.min(committed, end) : end;
        long from = Long.parseLong(asked.get("from"));
        long until = Math.min(last, from + Long.parseLong(asked.get("count")) - 1);
        StringBuilder out = new StringBuilder("{\"begin\":").append(begin()).append(",\"last\":").append(last);
        out.append(",\"entries\":[");
        for (long index = from; index <= until; index++) {
            DLedgerEntry entry;
            try {
                entry = store.get(index);
            } catch (DLedgerException cut) {
                break;
            }
            byte[] body = entry.getBody() == null ? new byte[0] : entry.getBody();
            out.append(index == from ? "" : ",").append("{\"index\":").append(entry.getIndex());
            out.append(",\"term\":").append(entry.getTerm()).append(",\"magic\":").append(entry.getMagic());
            out.append(",\"body\":\"").append(Base64.getEncoder().encodeToString(body)).append("\"}");
        }
        return out.append("]}").toString();
    }

    /** Up to which index this node knows the log to be committed. Early versions keep that with the store. */
    private long committed() throws Exception {
        MemberState member = server.getMemberState();
        try {
            return (Long) member.getClass().getMethod("getCommittedIndex").invoke(member);
        } catch (NoSuchMethodException none) {
            DLedgerStore store = server.getdLedgerStore();
            return (Long) store.getClass().getMethod("getCommittedIndex").invoke(store);
        }
    }

    /** The first index that is kept. Early versions name that, later ones the index before it. */
    private long begin() throws Exception {
        DLedgerStore store = server.getdLedgerStore();
        try {
            return 1 + (Long) store.getClass().getMethod("getLedgerBeforeBeginIndex").invoke(store);
        } catch (NoSuchMethodException none) {
            return (Long) store.getClass().getMethod("getLedgerBeginIndex").invoke(store);
        }
    }

    private static String quoted(String text) {
        return text == null ? "null" : "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }
}
