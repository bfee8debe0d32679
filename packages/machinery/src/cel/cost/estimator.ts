/**
 * The static cost estimate: the minimum and maximum cost of an expression, given the maximum sizes
 * of its data.
 *
 * Follows cel-go's estimator with Kubernetes' sizes: a declared size bounds its value, literals
 * have their actual size, and all other values may have any size. The result decides which rules a
 * CustomResourceDefinition may have, so its numbers are part of the API.
 */
import type { CheckedExpr } from "../check/checked-expr.ts";
import type { Environment } from "../check/environment.ts";
import type { Overload } from "../check/function-declaration.ts";
import {
  type CallExpr,
  type ComprehensionExpr,
  type Expr,
  type IdentExpr,
  isBinding,
  type ListExpr,
  type MapExpr,
  Operator,
  type SelectExpr,
  type StructExpr,
} from "../syntax/ast.ts";
import type { SizedNode } from "./call-estimate.ts";
import {
  add,
  type CostEstimate,
  fixed,
  LIST_CREATE_COST,
  MAP_CREATE_COST,
  multiply,
  ONE,
  type SizeEstimate,
  STRUCT_CREATE_COST,
  UNKNOWN_SIZE,
  union,
  ZERO,
} from "./estimate.ts";
import { SizeEstimator } from "./size-estimator.ts";

export function estimateCost(checked: CheckedExpr, environment: Environment): CostEstimate {
  return new Estimator(checked, environment).cost(checked.expr);
}

class Estimator {
  readonly #checked: CheckedExpr;
  readonly #book: SizeEstimator;

  constructor(checked: CheckedExpr, environment: Environment) {
    this.#checked = checked;
    this.#book = new SizeEstimator(checked, environment);
  }

  cost(e: Expr): CostEstimate {
    switch (e.kind) {
      case "literal":
        return ZERO;
      case "ident":
        return this.#ident(e);
      case "select":
        return this.#select(e);
      case "call":
        return this.#call(e);
      case "list":
        return this.#list(e);
      case "map":
        return this.#map(e);
      case "struct":
        return this.#struct(e);
      case "comprehension":
        return isBinding(e) ? this.#binding(e) : this.#comprehension(e);
    }
  }

  #ident(e: IdentExpr): CostEstimate {
    this.#book.placeIdent(e, e.name);
    return ONE;
  }

  #select(e: SelectExpr): CostEstimate {
    const reference = this.#checked.referenceOf(e);
    if (reference?.kind === "variable" || reference?.kind === "type") {
      this.#book.placeIdent(e, reference.name);
      return ONE;
    }
    const operand = this.cost(e.operand);
    // A presence test costs nothing in Kubernetes.
    if (e.testOnly) return operand;
    this.#book.placeField(e, e.operand, e.field);
    const { kind } = this.#checked.typeOf(e.operand);
    return kind === "map" || kind === "struct" || kind === "param" ? add(operand, ONE) : operand;
  }

  #call(e: CallExpr): CostEstimate {
    const [first, second, third] = e.args;
    if (e.function === "dyn" && e.target === undefined && first !== undefined) {
      const cost = add(ONE, this.cost(first));
      this.#book.copySizes(e, first);
      return cost;
    }
    const reference = this.#checked.referenceOf(e);
    const argCosts = e.args.map((arg) => this.cost(arg));
    if (reference?.kind !== "function" || reference.overloads.length === 0) return ZERO;
    const target = reference.namespaced ? undefined : e.target;
    const targetCost = target === undefined ? ZERO : this.cost(target);
    const [firstCost = ZERO, secondCost = ZERO, thirdCost = ZERO] = argCosts;
    if (e.function === Operator.and || e.function === Operator.or) {
      return { min: firstCost.min, max: add(firstCost, secondCost).max };
    }
    const all =
      e.function === Operator.conditional
        ? add(firstCost, union(secondCost, thirdCost))
        : add(targetCost, ...argCosts);
    if (e.function === Operator.conditional && second !== undefined && third !== undefined) {
      this.#book.joinEntrySizes(e, second, third);
    }
    if (e.function === Operator.add && first !== undefined && second !== undefined) {
      this.#book.joinEntrySizes(e, first, second);
    }
    return add(all, this.#overloads(e, target, reference.overloads));
  }

  /** The range that covers every overload that the call may mean, without the arguments. */
  #overloads(e: CallExpr, target: Expr | undefined, overloads: readonly Overload[]): CostEstimate {
    const call = {
      target: target && this.#node(target),
      args: e.args.map((arg) => this.#node(arg)),
    };
    let cost: CostEstimate | undefined;
    let resultSize: SizeEstimate | undefined;
    for (const { id, estimate } of overloads) {
      const found = estimate?.(call) ?? { cost: ONE };
      cost = cost === undefined ? found.cost : union(cost, found.cost);
      if (found.resultSize !== undefined) {
        resultSize =
          resultSize === undefined ? found.resultSize : union(resultSize, found.resultSize);
      }
      const [operand] = e.args;
      if (operand !== undefined && (id === "index_list" || id === "index_map")) {
        resultSize = this.#book.entrySize(operand)?.value;
        this.#book.placeElement(e, operand);
      }
      resultSize ??= this.#book.size(e);
    }
    this.#book.setSize(e, resultSize);
    return cost ?? ONE;
  }

  #node(expr: Expr): SizedNode {
    const size = this.#book.size(expr);
    return {
      expr,
      type: this.#checked.typeOf(expr),
      size: size ?? UNKNOWN_SIZE,
      sizeKnown: size !== undefined,
      elementSize: this.#book.declaredElementSize(expr) ?? UNKNOWN_SIZE,
    };
  }

  #list(e: ListExpr): CostEstimate {
    const costs = e.elements.map((element) => this.cost(element));
    const value = this.#covering(e.elements);
    this.#book.setEntrySize(e, { container: "list", key: ONE, value });
    return add(...costs, fixed(LIST_CREATE_COST));
  }

  #map(e: MapExpr): CostEstimate {
    const costs = e.entries.flatMap(({ key, value }) => [this.cost(key), this.cost(value)]);
    const key = this.#covering(e.entries.map((entry) => entry.key));
    const value = this.#covering(e.entries.map((entry) => entry.value));
    this.#book.setEntrySize(e, { container: "map", key, value });
    return add(...costs, fixed(MAP_CREATE_COST));
  }

  #covering(elements: readonly Expr[]): SizeEstimate {
    const sizes = elements.map((element) => this.#book.size(element) ?? UNKNOWN_SIZE);
    return sizes.length === 0 ? ZERO : sizes.reduce(union);
  }

  #struct(e: StructExpr): CostEstimate {
    return add(...e.fields.map(({ value }) => this.cost(value)), fixed(STRUCT_CREATE_COST));
  }

  #binding(e: ComprehensionExpr): CostEstimate {
    const range = this.cost(e.iterRange);
    const init = this.cost(e.accuInit);
    const result = this.#book.withLocals([this.#book.local(e.accuVar, e.accuInit)], () => {
      const cost = this.cost(e.result);
      this.#book.copySizes(e, e.result);
      return cost;
    });
    return add(range, init, result);
  }

  #comprehension(e: ComprehensionExpr): CostEstimate {
    const range = this.cost(e.iterRange);
    const init = this.cost(e.accuInit);
    const accumulator = this.#book.local(e.accuVar, e.accuInit);
    const iteration = this.#book.iterationLocals(e);
    const { round, result } = this.#book.withLocals([accumulator], () => {
      const round = this.#book.withLocals(iteration, () =>
        add(this.cost(e.condition), this.cost(e.step)),
      );
      return { round, result: this.cost(e.result) };
    });
    const rounds = this.#book.size(e.iterRange) ?? UNKNOWN_SIZE;
    this.#recordResultSize(e, rounds);
    return add(range, init, result, multiply(rounds, round));
  }

  #recordResultSize(e: ComprehensionExpr, rounds: SizeEstimate): void {
    if (e.accuInit.kind === "literal") this.#book.setSize(e, this.#book.size(e.accuInit));
    else if (e.accuInit.kind === "list" || e.accuInit.kind === "map") {
      this.#book.setSize(e, rounds);
      const entries = this.#book.entrySize(e.step);
      if (entries !== undefined) this.#book.setEntrySize(e, entries);
    }
  }
}
