/**
 * Compiles a checked expression into closures, one per node, with all decisions taken that do not
 * depend on data.
 */
import type { CheckedExpr } from "../check/checked-expr.ts";
import type { Environment } from "../check/environment.ts";
import type { Expr, IdentExpr, LiteralExpr } from "../syntax/ast.ts";
import { CelError, CelTypeValue, CelUint } from "../values/value.ts";
import { constantPlan, LocalSlots, type Plan, type Planning } from "./plan.ts";
import { planList, planMap, planStruct } from "./plan-aggregate.ts";
import { planCall } from "./plan-call.ts";
import { planComprehension } from "./plan-comprehension.ts";
import { planSelect } from "./plan-select.ts";

export interface PlannedProgram {
  readonly plan: Plan;
  /** Variables by slot. */
  readonly variables: readonly string[];
  readonly localCount: number;
}

export function planProgram(checked: CheckedExpr, environment: Environment): PlannedProgram {
  const planner = new Planner(checked, environment);
  const plan = planner.plan(checked.expr);
  return { plan, variables: planner.variables, localCount: planner.locals.count };
}

class Planner implements Planning {
  readonly checked: CheckedExpr;
  readonly environment: Environment;
  readonly mayBeLazy: boolean;
  readonly locals = new LocalSlots();
  readonly variables: string[] = [];

  constructor(checked: CheckedExpr, environment: Environment) {
    this.checked = checked;
    this.environment = environment;
    this.mayBeLazy = [...checked.variables].some(
      (name) => environment.variables.get(name)?.isLazy === true,
    );
  }

  plan(e: Expr): Plan {
    switch (e.kind) {
      case "literal":
        return planLiteral(e);
      case "ident":
        return this.#ident(e);
      case "select":
        return this.#reference(e) ?? planSelect(this, e);
      case "call":
        return planCall(this, e);
      case "list":
        return planList(this, e);
      case "map":
        return planMap(this, e);
      case "struct":
        return planStruct(this, e);
      case "comprehension":
        return planComprehension(this, e);
    }
  }

  variableSlot(name: string): number {
    const known = this.variables.indexOf(name);
    return known === -1 ? this.variables.push(name) - 1 : known;
  }

  #ident(e: IdentExpr): Plan {
    const reference = this.#reference(e);
    if (reference !== undefined) return reference;
    const error = new CelError(`no such attribute(s): ${e.name}`);
    return { run: () => error };
  }

  /** A name, or a selection that is a qualified name as a whole. */
  #reference(e: Expr): Plan | undefined {
    const reference = this.checked.referenceOf(e);
    if (reference?.kind === "type") return constantPlan(new CelTypeValue(reference.name));
    if (reference?.kind !== "variable") return undefined;
    const { name } = reference;
    const local = this.locals.find(name);
    if (local !== undefined) {
      return {
        run: (context) => {
          context.charge(1);
          return context.locals[local] ?? null;
        },
      };
    }
    const slot = this.variableSlot(name.replace(/^\./, ""));
    return {
      run: (context) => {
        context.charge(1);
        return context.variable(slot);
      },
    };
  }
}

function planLiteral({ literal }: LiteralExpr): Plan {
  return constantPlan(literal.type === "uint" ? new CelUint(literal.value) : literal.value);
}
