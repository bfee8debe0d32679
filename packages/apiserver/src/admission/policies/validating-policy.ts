/** A ValidatingAdmissionPolicy, shared by all clusters with an equal policy. */
import { InternPool } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, objectsOf } from "@kcp-ts/machinery/json";
import { type Expression, expressionOf } from "../expressions/expression.ts";
import { contentKey, Policy } from "./policy.ts";

export interface Validation {
  readonly expression: Expression;
  readonly message: string;
  readonly messageExpression: Expression | undefined;
  readonly reason: string;
}

export interface AuditAnnotation {
  readonly key: string;
  readonly expression: Expression;
}

export class ValidatingPolicy extends Policy {
  #validations: readonly Validation[] | undefined;
  #annotations: readonly AuditAnnotation[] | undefined;

  get validations(): readonly Validation[] {
    this.#validations ??= objectsOf(this.spec["validations"]).map(readValidation);
    return this.#validations;
  }

  get annotations(): readonly AuditAnnotation[] {
    this.#annotations ??= objectsOf(this.spec["auditAnnotations"]).map(
      ({ key, valueExpression }) => ({
        key: String(key),
        expression: expressionOf(String(valueExpression).trim(), "audit"),
      }),
    );
    return this.#annotations;
  }
}

function readValidation(validation: JsonObject): Validation {
  const { expression, message = "", messageExpression = "", reason = "Invalid" } = validation;
  const text = String(messageExpression).trim();
  return {
    expression: expressionOf(String(expression).trim(), "validation"),
    message: String(message).trim(),
    messageExpression: text === "" ? undefined : expressionOf(text, "message"),
    reason: String(reason),
  };
}

const interned = new InternPool<ValidatingPolicy>();

export function readValidatingPolicy(object: JsonObject): ValidatingPolicy {
  const spec = isJsonObject(object["spec"]) ? object["spec"] : {};
  return interned.get(contentKey(spec), () => new ValidatingPolicy(spec));
}
