import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.optimizer.BooleanSimplification$;
import org.apache.spark.sql.catalyst.optimizer.InlineCTE;
import org.apache.spark.sql.catalyst.optimizer.PullupCorrelatedPredicates$;
import org.apache.spark.sql.catalyst.optimizer.RewriteCorrelatedScalarSubquery$;
import org.apache.spark.sql.catalyst.optimizer.RewriteLateralSubquery$;
import org.apache.spark.sql.catalyst.optimizer.RewritePredicateSubquery$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/**
 * Joins in the place of the subqueries of an analysed plan, by Spark's own rules: inner ones first,
 * as its optimizer has it. A scalar subquery that reads nothing of the query around it stays, and
 * so does such an EXISTS in places. Janino compiles this, as PlanSurvey.java.
 */
public final class SubqueryJoins extends AbstractPartialFunction {
  /** The plan with common tables in the place of their names too. */
  public static LogicalPlan of(Object analysed) {
    return joined((LogicalPlan) new InlineCTE(true, false).apply((LogicalPlan) analysed));
  }

  private static LogicalPlan joined(LogicalPlan plan) {
    plan = (LogicalPlan) plan.transformAllExpressions(new SubqueryJoins());
    plan = BooleanSimplification$.MODULE$.apply(plan); // NOT decides what a NULL of an IN is
    plan = PullupCorrelatedPredicates$.MODULE$.apply(plan);
    plan = RewritePredicateSubquery$.MODULE$.apply(plan);
    plan = RewriteCorrelatedScalarSubquery$.MODULE$.apply(plan);
    return RewriteLateralSubquery$.MODULE$.apply(plan);
  }

  public boolean isDefinedAt(Object expression) {
    return expression instanceof SubqueryExpression;
  }

  public Object applyOrElse(Object expression, Function1 other) {
    if (expression instanceof SubqueryExpression) {
      SubqueryExpression subquery = (SubqueryExpression) expression;
      return subquery.withNewPlan(joined((LogicalPlan) subquery.plan()));
    }
    return other.apply(expression);
  }
}
