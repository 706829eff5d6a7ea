import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Constructor;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Product;
import scala.collection.Iterator;
import scala.collection.immutable.Map;

/**
 * The entries that catalog_entries.py adds to a session's catalog, in one call.
 *
 * CREATE VIEW and CREATE TABLE read the log of each table, which takes some 10 ms; what they enter
 * is known. Each entry is that of a pattern, which Spark has made of such a statement, but for what
 * is told of it; of a table its log tells the rest. Janino compiles this, as PlanSurvey.java.
 */
public final class CatalogEntries {
  private static final String QUERIED = "view.query.out.";
  private SessionCatalog catalog;
  private Configuration hadoop;
  private CatalogTable pattern;

  /** Of entries as JSON: the places of those that were added, or were there. */
  public static String add(Object catalog, Object hadoop, Object pattern, String told)
      throws Exception {
    CatalogEntries entries = new CatalogEntries();
    entries.catalog = (SessionCatalog) catalog;
    entries.hadoop = (Configuration) hadoop;
    entries.pattern = (CatalogTable) pattern;
    JsonNode each = new ObjectMapper().readTree(told);
    List added = new ArrayList();
    for (int i = 0; i < each.size(); i++) {
      if (entries.addOne((JsonNode) each.get(i))) {
        added.add(Integer.valueOf(i));
      }
    }
    return added.toString();
  }

  private boolean addOne(JsonNode told) {
    boolean view = pattern.tableType() == CatalogTableType.VIEW();
    if (view != told.has("text") || !(view || pattern.provider().contains("delta"))) {
      return false;
    }
    String schema = textOf(told, "schema"), table = textOf(told, "table");
    TableIdentifier name = new TableIdentifier(table, Option.apply(schema));
    try {
      if (catalog.isTempView(new TableIdentifier(table))) {
        return false;
      }
      CatalogTable entry = described(name, told);
      if (catalog.tableExists(name)) {
        return same(catalog.getTableMetadata(name), entry);
      }
      catalog.createTable(entry, false, true);
      return true;
    } catch (Exception e) {
      return false;
    }
  }

  /** Whether what is there by that name is what would be added. */
  private static boolean same(CatalogTable there, CatalogTable entry) {
    return there.provider().equals(entry.provider())
        && there.storage().locationUri().equals(entry.storage().locationUri())
        && there.viewText().equals(entry.viewText())
        && there.schema().equals(entry.schema())
        && there.comment().equals(entry.comment())
        && there.properties().equals(entry.properties());
  }

  private CatalogTable described(TableIdentifier name, JsonNode told) throws Exception {
    List changes = new ArrayList();
    put(changes, "identifier", name);
    put(changes, "createTime", Long.valueOf(System.currentTimeMillis()));
    if (told.has("text")) {
      put(changes, "schema", DataType.fromJson(told.get("columns").toString()));
      put(changes, "properties", queried((JsonNode) told.get("columns").get("fields")));
      put(changes, "viewText", Option.apply(textOf(told, "text")));
      put(changes, "viewOriginalText", Option.apply(textOf(told, "text")));
      put(changes, "comment", Option.apply(textOf(told, "comment")));
    } else {
      Path place = new Path(textOf(told, "place"));
      URI uri = place.getFileSystem(hadoop).makeQualified(place).toUri();
      List at = new ArrayList();
      put(at, "locationUri", Option.apply(uri));
      put(changes, "storage", changed(pattern.storage(), at));
      put(changes, "tableType", CatalogTableType.EXTERNAL()); // else DROP TABLE deletes its files
      put(changes, "schema", new StructType());
      put(changes, "properties", pattern.properties().empty());
      put(changes, "comment", Option.empty());
      put(changes, "stats", Option.empty());
    }
    return (CatalogTable) changed(pattern, changes);
  }

  /** The properties of the pattern, but that they name these columns of a view's query. */
  private Map queried(JsonNode columns) {
    Map found = pattern.properties();
    for (Iterator keys = found.keysIterator(); keys.hasNext(); ) {
      String key = (String) keys.next();
      if (key.startsWith(QUERIED)) {
        found = (Map) found.removed(key);
      }
    }
    found = (Map) found.updated(QUERIED + "numCols", String.valueOf(columns.size()));
    for (int i = 0; i < columns.size(); i++) {
      found = (Map) found.updated(QUERIED + "col." + i, textOf((JsonNode) columns.get(i), "name"));
    }
    return found;
  }

  private static String textOf(JsonNode told, String field) {
    return told.hasNonNull(field) ? ((JsonNode) told.get(field)).asText() : null;
  }

  private static void put(List changes, String field, Object value) {
    changes.add(new Object[] {field, value});
  }

  /** A copy of a case class, whichever fields this release of Spark has given it. */
  private static Object changed(Product before, List changes) throws Exception {
    Object[] fields = new Object[before.productArity()];
    for (int i = 0; i < fields.length; i++) {
      fields[i] = before.productElement(i);
      for (int j = 0; j < changes.size(); j++) {
        Object[] change = (Object[]) changes.get(j);
        if (change[0].equals(before.productElementName(i))) {
          fields[i] = change[1];
        }
      }
    }
    Constructor[] makers = before.getClass().getConstructors();
    for (int i = 0; i < makers.length; i++) {
      if (makers[i].getParameterTypes().length == fields.length) {
        return makers[i].newInstance(fields);
      }
    }
    throw new IllegalStateException("no constructor of " + before.getClass());
  }
}
