import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Iterator;
import java.util.Locale;
import java.util.NoSuchElementException;
import java.util.Properties;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistryBase;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SessionState;
import scala.Option;
import scala.Tuple2;
import scala.collection.Seq;

/**
 * What each refresh asks of a session's state, in one call: a call from Python takes about as long
 * as a read of the catalog, and one by one these are some sixty. Janino compiles this, as
 * PlanSurvey.java.
 */
public final class SessionCalls {
  /** What a name is, as JSON; null where it is nothing. */
  public static String find(Object of, String schema, String table, boolean temporary)
      throws Exception {
    SessionCatalog catalog = ((SessionState) of).catalog();
    ObjectNode told = new ObjectMapper().createObjectNode();
    String here = catalog.getCurrentDatabase().toLowerCase(Locale.ROOT);
    if (temporary && schema.equals(here) && catalog.isTempView(new TableIdentifier(table))) {
      return told.put("kind", "TEMPORARY").toString();
    }
    TableIdentifier full = new TableIdentifier(table, Option.apply(schema));
    if (!catalog.databaseExists(schema) || !catalog.tableExists(full)) {
      return null;
    }
    CatalogTable found = catalog.getTableMetadata(full);
    told.put("kind", found.tableType().name());
    told.put("provider", textOf(found.provider()));
    told.put("location", textOf(found.storage().locationUri()));
    if (found.viewText().isDefined()) {
      told.put("text", textOf(found.viewText()));
      told.put("namespace", (String) found.viewCatalogAndNamespace().last());
      addNames(told.putArray("queried"), found.viewQueryColumnNames());
      ArrayNode names = told.putArray("names");
      String[] fields = found.schema().fieldNames();
      for (int i = 0; i < fields.length; i++) {
        names.add(fields[i]);
      }
      return told.toString();
    }
    if (!found.provider().contains("delta")) {
      told.put("schema", found.schema().json());
      addNames(told.putArray("partitions"), found.partitionColumnNames());
      told.put("tracked", found.tracksPartitionsInCatalog());
      ObjectNode options = told.putObject("options");
      for (scala.collection.Iterator i = found.storage().properties().iterator(); i.hasNext(); ) {
        Tuple2 pair = (Tuple2) i.next();
        options.put((String) pair._1(), (String) pair._2());
      }
    }
    return told.toString();
  }

  /**
   * The confs are those of the cluster, then these, as JSON; there are no temporary views, and no
   * function of a registry that is not in its list. Lasting functions are looked up when they are
   * next called: a session caches the body of each that it has run, also after another session has
   * replaced or dropped it.
   */
  public static void reset(
      Object of, Object cluster, String confs, Object functions, Object tableFunctions)
      throws Exception {
    SessionState state = (SessionState) of;
    Properties wanted = (Properties) ((Properties) cluster).clone();
    JsonNode told = new ObjectMapper().readTree(confs);
    for (Iterator names = told.fieldNames(); names.hasNext(); ) {
      String name = (String) names.next();
      wanted.setProperty(name, ((JsonNode) told.get(name)).asText());
    }
    SQLConf conf = state.conf();
    conf.clear();
    conf.setConf(wanted);
    state.catalog().clearTempTables();
    forget(state.functionRegistry(), (Seq) functions);
    forget(state.tableFunctionRegistry(), (Seq) tableFunctions);
  }

  /** The values of confs that are set or known, as JSON. */
  public static String confs(Object of, String names) throws Exception {
    SQLConf conf = ((SessionState) of).conf();
    JsonNode asked = new ObjectMapper().readTree(names);
    ObjectNode told = new ObjectMapper().createObjectNode();
    for (int i = 0; i < asked.size(); i++) {
      String name = ((JsonNode) asked.get(i)).asText();
      try {
        told.put(name, conf.getConfString(name));
      } catch (NoSuchElementException unknown) {
        told.remove(name);
      }
    }
    return told.toString();
  }

  /** The confs that are set, as JSON. */
  public static String settings(Object of) throws Exception {
    SQLConf conf = ((SessionState) of).conf();
    return new ObjectMapper().writeValueAsString(conf.settings());
  }

  /** The jobs of a group, once the scheduler's events are delivered, as JSON. */
  public static String jobs(Object of, String group) throws Exception {
    SparkContext context = ((JavaSparkContext) of).sc();
    context.listenerBus().waitUntilEmpty();
    return new ObjectMapper().writeValueAsString(context.statusTracker().getJobIdsForGroup(group));
  }

  private static void forget(FunctionRegistryBase registry, Seq builtIn) {
    scala.collection.Iterator others = ((Seq) registry.listFunction().diff(builtIn)).iterator();
    while (others.hasNext()) {
      FunctionIdentifier name = (FunctionIdentifier) others.next();
      if (!name.toString().startsWith("system.")) { // where temporary ones are
        registry.dropFunction(name);
      }
    }
  }

  private static String textOf(Option value) {
    return value.isDefined() ? value.get().toString() : null;
  }

  private static void addNames(ArrayNode to, Seq names) {
    for (scala.collection.Iterator i = names.iterator(); i.hasNext(); ) {
      to.add((String) i.next());
    }
  }
}
