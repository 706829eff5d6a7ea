import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.QueryContextType;
import org.apache.spark.SparkThrowable;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.python.UserDefinedPythonFunction;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * What a client of Spark Connect asks of the analyser on its machine. A failure comes as JSON, the
 * only text that is returned: of an exception from Java PySpark asks the JVM of a classic session.
 * Janino compiles this, as PlanSurvey.java.
 */
public final class AnalyserCalls {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int BATCHED = 100;
  private static final int ARROW_BATCHED = 101;
  private static final String IN_ARROW = "spark.sql.execution.pythonUDF.arrow.enabled";

  /** The first session of the JVM, with the settings that Java was started with. */
  public static Object start() {
    try {
      return SparkSession.builder().getOrCreate();
    } catch (Throwable e) {
      return failure(e);
    }
  }

  /**
   * A session beside another one, with confs, and with functions of Python that have no body: each
   * has a name, the type that it returns, PySpark's number of its kind, and whether it is
   * deterministic.
   */
  public static Object makeSession(Object beside, String confs, String functions) {
    try {
      SparkSession made = ((SparkSession) beside).newSession();
      SQLConf conf = made.sessionState().conf();
      JsonNode told = MAPPER.readTree(confs);
      for (Iterator names = told.fieldNames(); names.hasNext(); ) {
        String name = (String) names.next();
        if (!SQLConf.isStaticConfigKey(name)) {
          conf.setConfString(name, ((JsonNode) told.get(name)).asText());
        }
      }
      for (Iterator each = MAPPER.readTree(functions).elements(); each.hasNext(); ) {
        register(made, (JsonNode) each.next());
      }
      return made;
    } catch (Throwable e) {
      return failure(e);
    }
  }

  /** The analysed plan of a query. */
  public static Object analyse(Object session, String text) {
    try {
      return ((SparkSession) session).sql(text).queryExecution().analyzed();
    } catch (Throwable e) {
      return failure(e);
    }
  }

  /** What `of` of a class of this package makes of a plan, with the session active. */
  public static Object apply(Object session, Object compiled, Object plan) {
    Option before = SparkSession.getActiveSession();
    SparkSession.setActiveSession((SparkSession) session);
    try {
      Class[] taken = new Class[] {Object.class};
      return compiled.getClass().getMethod("of", taken).invoke(null, new Object[] {plan});
    } catch (java.lang.reflect.InvocationTargetException e) {
      return failure(e.getCause());
    } catch (Throwable e) {
      return failure(e);
    } finally {
      if (before.isDefined()) {
        SparkSession.setActiveSession((SparkSession) before.get());
      } else {
        SparkSession.clearActiveSession();
      }
    }
  }

  /** Temporary views without rows, by their names, of schemas as JSON. */
  public static Object makeViews(Object session, String schemas) {
    try {
      SparkSession owner = (SparkSession) session;
      JavaSparkContext context = JavaSparkContext.fromSparkContext(owner.sparkContext());
      JsonNode told = MAPPER.readTree(schemas);
      for (Iterator names = told.fieldNames(); names.hasNext(); ) {
        String name = (String) names.next();
        StructType schema = (StructType) DataType.fromJson(told.get(name).toString());
        owner.createDataFrame(context.emptyRDD(), schema).createOrReplaceTempView(name);
      }
      return null;
    } catch (Throwable e) {
      return failure(e);
    }
  }

  public static Object dropViews(Object session, String names) {
    try {
      for (Iterator each = MAPPER.readTree(names).elements(); each.hasNext(); ) {
        ((SparkSession) session).catalog().dropTempView(((JsonNode) each.next()).asText());
      }
      return null;
    } catch (Throwable e) {
      return failure(e);
    }
  }

  private static void register(SparkSession session, JsonNode told) {
    String name = told.get("name").asText();
    boolean inArrow = "true".equals(session.sessionState().conf().getConfString(IN_ARROW));
    int kind = told.get("kind").asInt();
    SimplePythonFunction none =
        new SimplePythonFunction(
            new byte[0], new HashMap(), new ArrayList(), "python3", "3", new ArrayList(), null);
    UserDefinedPythonFunction made =
        new UserDefinedPythonFunction(
            name,
            none,
            DataType.fromDDL(told.get("returns").asText()),
            kind == BATCHED && inArrow ? ARROW_BATCHED : kind,
            told.get("deterministic").asBoolean());
    session.udf().registerPython(name, made);
  }

  private static String failure(Throwable e) {
    ObjectNode told = MAPPER.createObjectNode();
    ArrayNode classes = told.putArray("classes");
    for (Class kind = e.getClass(); kind != null; kind = kind.getSuperclass()) {
      classes.add(kind.getName());
    }
    told.put("message", e.getMessage() == null ? e.toString() : e.getMessage());
    ObjectNode parameters = told.putNull("condition").putNull("sql_state").putObject("parameters");
    ArrayNode places = told.putArray("places");
    if (e instanceof SparkThrowable) {
      SparkThrowable facts = (SparkThrowable) e;
      told.put("condition", facts.getCondition()).put("sql_state", facts.getSqlState());
      for (Iterator each = facts.getMessageParameters().entrySet().iterator(); each.hasNext(); ) {
        Map.Entry pair = (Map.Entry) each.next();
        parameters.put((String) pair.getKey(), (String) pair.getValue());
      }
      addPlaces(facts.getQueryContext(), places);
    }
    return told.toString();
  }

  /** In the text, by the names of fields of Connect's messages. */
  private static void addPlaces(QueryContext[] found, ArrayNode to) {
    for (int i = 0; i < found.length; i++) {
      if (found[i].contextType() == QueryContextType.SQL) {
        ObjectNode place = to.addObject().put("fragment", found[i].fragment());
        place.put("object_type", found[i].objectType()).put("object_name", found[i].objectName());
        place.put("start_index", found[i].startIndex()).put("stop_index", found[i].stopIndex());
      }
    }
  }
}
