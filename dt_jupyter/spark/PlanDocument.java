import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Parameter;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.zip.DeflaterOutputStream;
import org.apache.spark.SparkBuildInfo;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.aggregate.PivotFirst;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.Product;
import scala.collection.Iterable;
import scala.collection.Iterator;

/**
 * A plan as the JSON that plan_document.py reads:
 *
 * {"version", "spark", "types": [a type as Spark writes it], "nodes": [node]}
 *
 * Each operator and each expression is one node, however often it is reached, and stands after all
 * that it refers to; the last one is the plan. A node has "class", "package" (that of catalyst is
 * left out), "children" (numbers of nodes), "fields", and "origin" ([line, column, first and last
 * character, name of the view]), where Spark knows it; an expression also has "type", "nullable"
 * and "deterministic".
 *
 * A field is null, a boolean, a number, a string, a list, or an object, by its only key or "class": {"node": number}, {"type":
 * number}, {"id": number of a column}, {"metadata": object}, {"map": [[key, value]]}, {"class":
 * name, field: value} of one of several words or of a structure, and {"unknown": class, "text"} of
 * anything else. Numbers of common tables and expressions start at 0. Janino compiles this, as
 * PlanSurvey.java.
 */
public final class PlanDocument {
  private static final int VERSION = 1;
  private static final int MOST_ROWS = 1000;
  private static final String CATALYST = "org.apache.spark.sql.catalyst.";
  private static final String TYPES = "org.apache.spark.sql.types.";
  private static final String PYTHON = "org.apache.spark.api.python.";
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private final ArrayNode nodes = JSON.arrayNode();
  private final ArrayNode types = JSON.arrayNode();
  private final Map nodeNumbers = new IdentityHashMap();
  private final Map typeNumbers = new HashMap();
  private final Map commonNumbers = new HashMap();

  /**
   * Of a plan, analysed or optimized, compressed: an answer to Python that takes more than one
   * packet waits 40 ms for the acknowledgement of the first.
   */
  public static byte[] of(Object plan) throws Exception {
    PlanDocument document = new PlanDocument();
    document.number((TreeNode) plan);
    ObjectNode out = JSON.objectNode();
    out.put("version", VERSION);
    out.put("spark", SparkBuildInfo.spark_version());
    out.set("types", document.types);
    out.set("nodes", document.nodes);
    ByteArrayOutputStream compressed = new ByteArrayOutputStream();
    DeflaterOutputStream stream = new DeflaterOutputStream(compressed);
    stream.write(MAPPER.writeValueAsBytes(out));
    stream.close();
    return compressed.toByteArray();
  }

  private int number(TreeNode node) throws Exception {
    Integer known = (Integer) nodeNumbers.get(node);
    if (known == null) {
      ObjectNode described = describe(node);
      known = Integer.valueOf(nodes.size());
      nodes.add(described);
      nodeNumbers.put(node, known);
    }
    return known.intValue();
  }

  private ObjectNode describe(TreeNode node) throws Exception {
    ObjectNode out = JSON.objectNode();
    out.put("class", shortName(node));
    out.put("package", packageName(node));
    ArrayNode children = out.putArray("children");
    for (Iterator each = node.children().iterator(); each.hasNext(); ) {
      children.add(number((TreeNode) each.next()));
    }
    ObjectNode fields = out.putObject("fields");
    Iterator others = node.otherCopyArgs().iterator();
    String[] names = fieldNames(node);
    for (int i = 0; i < names.length; i++) {
      Object value = i < node.productArity() ? node.productElement(i) : others.next();
      fields.set(names[i], field(node, names[i], value));
    }
    if (node instanceof Cast) { // and none that Spark's analyser adds
      boolean written = node.getTagValue(Cast.USER_SPECIFIED_CAST()).isDefined();
      fields.put("explicit", written || isCastCall(textOf(node.origin())));
    }
    String text = textOf(node.origin());
    if (node instanceof Sample && text != null && !text.toUpperCase().contains("REPEATABLE")) {
      fields.putNull("seed"); // Spark takes another one for each analysis
    }
    if (node instanceof Expression) {
      describeValue((Expression) node, out);
    }
    describeOrigin(node.origin(), out);
    return out;
  }

  /** Whether a text is the call of a function that casts, as int(x): Spark tags no such cast. */
  private static boolean isCastCall(String text) {
    if (text == null || !text.endsWith(")") || text.indexOf('(') < 1) {
      return false;
    }
    String name = text.substring(0, text.indexOf('(')).trim();
    if (!name.matches("[A-Za-z_]+")) {
      return false;
    }
    FunctionIdentifier function = new FunctionIdentifier(name.toLowerCase());
    Option known = FunctionRegistry$.MODULE$.builtin().lookupFunction(function);
    return known.isDefined()
        && ((ExpressionInfo) known.get()).getClassName().equals(Cast.class.getName())
        && CatalystSqlParser$.MODULE$.parseExpression(text) instanceof UnresolvedFunction;
  }

  /** What a node was parsed from; null where Spark does not say. */
  private static String textOf(Origin origin) {
    if (origin.sqlText().isEmpty() || origin.startIndex().isEmpty()) {
      return null;
    }
    int first = ((Integer) origin.startIndex().get()).intValue();
    int last = ((Integer) origin.stopIndex().get()).intValue();
    return ((String) origin.sqlText().get()).substring(first, last + 1);
  }

  /** The names of a class's parameters: those of its fields, and of its second list of them. */
  private static String[] fieldNames(TreeNode node) {
    int first = node.productArity();
    String[] names = new String[first + node.otherCopyArgs().size()];
    for (int i = 0; i < first; i++) {
      String name = node.productElementName(i);
      names[i] = name.length() == 0 ? "_" + i : name;
    }
    Constructor[] constructors = node.getClass().getConstructors();
    for (int i = 0; names.length > first && i < constructors.length; i++) {
      Parameter[] parameters = constructors[i].getParameters();
      for (int j = first; parameters.length == names.length && j < names.length; j++) {
        names[j] = parameters[j].getName();
      }
    }
    return names;
  }

  /** Null for what is no value, as the frame of a window. */
  private void describeValue(Expression node, ObjectNode out) {
    out.putNull("type").putNull("nullable").put("deterministic", node.deterministic());
    try {
      out.put("type", typeNumber(node.dataType()));
      out.put("nullable", node.nullable());
    } catch (Exception none) {
      return;
    } catch (AssertionError none) { // of what IN asks a subquery for
      return;
    }
  }

  private void describeOrigin(Origin origin, ObjectNode out) throws Exception {
    if (origin.startIndex().isDefined()) {
      ArrayNode place = out.putArray("origin");
      place.add(value(origin.line(), false)).add(value(origin.startPosition(), false));
      place.add(value(origin.startIndex(), false)).add(value(origin.stopIndex(), false));
      place.add(value(origin.objectName(), false));
    }
  }

  private JsonNode field(TreeNode node, String name, Object value) throws Exception {
    if (node instanceof Literal && name.equals("value")) {
      return plainValue((Literal) node);
    } else if (node instanceof InSet && name.equals("hset")) {
      return literals(((InSet) node).child().dataType(), (Iterable) value);
    } else if (node instanceof PivotFirst && name.equals("pivotColumnValues")) {
      return literals(((PivotFirst) node).pivotColumn().dataType(), (Iterable) value);
    } else if (node instanceof LocalRelation && name.equals("data")) {
      return rows(((LocalRelation) node).schema().fields(), (Iterable) value);
    } else if (value instanceof Long && (name.equals("cteId") || name.equals("loopId"))) {
      return commonNumber("table " + value);
    } else if (value instanceof Long && name.equals("id") && !(node instanceof Expression)) {
      return commonNumber("table " + value);
    }
    return value(value, node instanceof Expression);
  }

  private JsonNode value(Object value, boolean spelled) throws Exception {
    if (value instanceof Option) {
      return value(((Option) value).isDefined() ? ((Option) value).get() : null, spelled);
    } else if (value == null) {
      return JSON.nullNode();
    } else if (value instanceof Boolean) {
      return JSON.booleanNode(((Boolean) value).booleanValue());
    } else if (value instanceof Float || value instanceof Double) {
      return JSON.numberNode(((Number) value).doubleValue());
    } else if (isWhole(value)) {
      return JSON.numberNode(((Number) value).longValue());
    } else if (isText(value)) {
      return JSON.textNode(value.toString());
    } else if (value instanceof TreeNode) {
      return tagged("node", JSON.numberNode(number((TreeNode) value)));
    } else if (value instanceof DataType) {
      return tagged("type", JSON.numberNode(typeNumber((DataType) value)));
    } else if (value instanceof ExprId) {
      return tagged("id", JSON.numberNode(((ExprId) value).id()));
    } else if (value instanceof Metadata) {
      return tagged("metadata", MAPPER.readTree(((Metadata) value).json()));
    } else if (value instanceof java.util.Map) {
      return tagged("map", pairs((java.util.Map) value, spelled));
    } else if (value instanceof scala.collection.Map) {
      java.util.Map found = new HashMap();
      for (Iterator each = ((Iterable) value).iterator(); each.hasNext(); ) {
        Product pair = (Product) each.next();
        found.put(pair.productElement(0), pair.productElement(1));
      }
      return tagged("map", pairs(found, spelled));
    } else if (value instanceof scala.collection.Set) {
      return sorted(((Iterable) value).iterator(), spelled);
    } else if (value instanceof Iterable) {
      return list(((Iterable) value).iterator(), spelled);
    } else if (value.getClass().getName().startsWith("scala.Tuple")) {
      return list(((Product) value).productIterator(), spelled);
    }
    return structure(value, spelled);
  }

  /** One of several words, or a value of several fields. */
  private JsonNode structure(Object value, boolean spelled) throws Exception {
    String name = value.getClass().getName();
    if (value instanceof AtomicReference && ((AtomicReference) value).get() == null) {
      return JSON.nullNode(); // of the variable of a lambda, while it is computed
    } else if (name.equals(CATALYST + "expressions.CommonExpressionId")) {
      return commonNumber("expression " + ((Product) value).productElement(0));
    } else if (name.startsWith("scala.Enumeration$") || value instanceof Enum) {
      return tagged("class", JSON.textNode(value.toString()));
    } else if (name.endsWith("$")) {
      return tagged("class", JSON.textNode(shortName(value)));
    } else if (value instanceof Class) {
      return tagged("class", JSON.textNode("Class")).put("name", ((Class) value).getName());
    } else if (value instanceof CatalogTable) {
      ObjectNode out = tagged("class", JSON.textNode(shortName(value)));
      out.set("identifier", value(((CatalogTable) value).identifier(), spelled));
      return out;
    } else if (value instanceof Product && (name.startsWith(CATALYST) || name.startsWith(TYPES))) {
      Product product = (Product) value;
      ObjectNode out = tagged("class", JSON.textNode(shortName(value)));
      for (int i = 0; i < product.productArity(); i++) {
        out.set(product.productElementName(i), value(product.productElement(i), spelled));
      }
      return out;
    }
    ObjectNode out = tagged("unknown", JSON.textNode(name));
    return spelled && !name.startsWith(PYTHON) ? out.put("text", value.toString()) : out;
  }

  private static boolean isWhole(Object value) {
    boolean small = value instanceof Byte || value instanceof Short;
    return small || value instanceof Integer || value instanceof Long;
  }

  private static boolean isText(Object value) {
    boolean exact = value instanceof Number || value instanceof Decimal;
    boolean text = value instanceof CharSequence || value instanceof UTF8String;
    return exact || text || value instanceof Character;
  }

  private static ObjectNode tagged(String tag, JsonNode value) {
    ObjectNode out = JSON.objectNode();
    out.set(tag, value);
    return out;
  }

  private ArrayNode list(Iterator values, boolean spelled) throws Exception {
    ArrayNode out = JSON.arrayNode();
    while (values.hasNext()) {
      out.add(value(values.next(), spelled));
    }
    return out;
  }

  private ArrayNode sorted(Iterator values, boolean spelled) throws Exception {
    TreeMap found = new TreeMap();
    while (values.hasNext()) {
      JsonNode each = value(values.next(), spelled);
      found.put(each.toString(), each);
    }
    return JSON.arrayNode().addAll(found.values());
  }

  private ArrayNode pairs(java.util.Map values, boolean spelled) throws Exception {
    TreeMap found = new TreeMap();
    for (java.util.Iterator each = values.entrySet().iterator(); each.hasNext(); ) {
      Map.Entry pair = (Map.Entry) each.next();
      ArrayNode both = JSON.arrayNode().add(String.valueOf(pair.getKey()));
      found.put(String.valueOf(pair.getKey()), both.add(value(pair.getValue(), spelled)));
    }
    return JSON.arrayNode().addAll(found.values());
  }

  private int typeNumber(DataType type) throws Exception {
    Integer known = (Integer) typeNumbers.get(type);
    if (known == null) {
      JsonNode described = MAPPER.readTree(type.json());
      known = Integer.valueOf(types.size());
      types.add(described);
      typeNumbers.put(type, known);
    }
    return known.intValue();
  }

  private JsonNode commonNumber(String name) {
    if (!commonNumbers.containsKey(name)) {
      commonNumbers.put(name, Integer.valueOf(commonNumbers.size()));
    }
    return JSON.numberNode(((Integer) commonNumbers.get(name)).intValue());
  }

  /** A string as it is, a number, a date or a time as text; anything else as SQL. */
  private static JsonNode plainValue(Literal literal) {
    Object value = literal.value();
    DataType type = literal.dataType();
    boolean nested = value instanceof ArrayData || value instanceof MapData;
    if (value == null) {
      return JSON.nullNode();
    } else if (nested || value instanceof InternalRow || value instanceof byte[]) {
      return sqlOf(literal);
    } else if (type instanceof DateType || type instanceof TimestampType) {
      return JSON.textNode(literal.toString());
    }
    return JSON.textNode(value.toString());
  }

  private static JsonNode sqlOf(Literal literal) {
    try {
      return JSON.textNode(literal.sql());
    } catch (RuntimeException none) { // SQL has no literal of the type
      return tagged("unknown", JSON.textNode(literal.dataType().typeName()));
    }
  }

  /** Values of a type as literals; of a set in the order of their SQL. */
  private ArrayNode literals(DataType type, Iterable values) throws Exception {
    Map found = new TreeMap();
    boolean ordered = !(values instanceof scala.collection.Set);
    for (Iterator each = values.iterator(); each.hasNext(); ) {
      Literal literal = new Literal(each.next(), type);
      String place = String.format("%09d", new Object[] {Integer.valueOf(found.size())});
      found.put(ordered ? place : sqlOf(literal).toString(), literal);
    }
    ArrayNode out = JSON.arrayNode();
    for (java.util.Iterator each = found.values().iterator(); each.hasNext(); ) {
      out.add(value(each.next(), true));
    }
    return out;
  }

  /** Rows as lists of SQL. */
  private static JsonNode rows(org.apache.spark.sql.types.StructField[] columns, Iterable rows) {
    if (rows.size() > MOST_ROWS) {
      return tagged("unknown", JSON.textNode("more than " + MOST_ROWS + " rows"));
    }
    ArrayNode out = JSON.arrayNode();
    for (Iterator each = rows.iterator(); each.hasNext(); ) {
      InternalRow row = (InternalRow) each.next();
      ArrayNode values = out.addArray();
      for (int i = 0; i < columns.length; i++) {
        DataType type = columns[i].dataType();
        values.add(sqlOf(new Literal(row.isNullAt(i) ? null : row.get(i, type), type)));
      }
    }
    return out;
  }

  private static String shortName(Object value) {
    String name = value.getClass().getName();
    while (name.endsWith("$")) {
      name = name.substring(0, name.length() - 1);
    }
    return name.substring(Math.max(name.lastIndexOf('.'), name.lastIndexOf('$')) + 1);
  }

  private static String packageName(Object value) {
    String name = value.getClass().getName();
    name = name.substring(0, name.lastIndexOf('.'));
    return name.startsWith(CATALYST) ? name.substring(CATALYST.length()) : name;
  }
}
