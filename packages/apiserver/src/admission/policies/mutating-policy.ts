/** A MutatingAdmissionPolicy, shared by all clusters with an equal policy. */
import { InternPool } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, objectsOf } from "@kcp-ts/machinery/json";
import { type Expression, expressionOf } from "../expressions/expression.ts";
import { contentKey, Policy } from "./policy.ts";

export interface Mutation {
  readonly type: "ApplyConfiguration" | "JSONPatch";
  readonly expression: Expression;
}

export class MutatingPolicy extends Policy {
  #mutations: readonly Mutation[] | undefined;

  get isReinvoked(): boolean {
    return this.spec["reinvocationPolicy"] === "IfNeeded";
  }

  get mutations(): readonly Mutation[] {
    this.#mutations ??= objectsOf(this.spec["mutations"]).map(readMutation);
    return this.#mutations;
  }
}

function readMutation({ patchType, applyConfiguration, jsonPatch }: JsonObject): Mutation {
  if (patchType === "JSONPatch")
    return { type: patchType, expression: expressionOf(textIn(jsonPatch), "jsonPatch") };
  return {
    type: "ApplyConfiguration",
    expression: expressionOf(textIn(applyConfiguration), "applyConfiguration"),
  };
}

function textIn(value: JsonObject[string] | undefined): string {
  return isJsonObject(value) ? String(value["expression"] ?? "") : "";
}

const interned = new InternPool<MutatingPolicy>();

export function readMutatingPolicy(object: JsonObject): MutatingPolicy {
  const spec = isJsonObject(object["spec"]) ? object["spec"] : {};
  return interned.get(contentKey(spec), () => new MutatingPolicy(spec));
}
