/**
 * The limits of the rules of one version. Kubernetes limits the cost of evaluating rules; compiling
 * them is work, too, in the process that serves all tenants.
 */
import { isJsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import type { CustomResourceDefinition } from "@kcp-ts/machinery/schema";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";

/** The rules of one version; the largest public definitions have some hundred. */
export const rulesMax = 1_000;

/**
 * The UTF-16 units of the expressions of one version together; the largest public definitions have
 * some ten thousand.
 */
export const ruleTextMax = 32_768;

/** A schema that is already stored may stay unchanged. */
export function ruleLimitErrors(
  { spec }: CustomResourceDefinition,
  old?: CustomResourceDefinition,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, { name, schema }] of spec.versions.entries()) {
    const before = old?.spec.versions.find((version) => version.name === name);
    if (before !== undefined && jsonEqual(before.schema, schema)) continue;
    const { rules, text } = countRules(schema);
    const path = `spec.versions[${i}].schema.openAPIV3Schema`;
    if (rules > rulesMax)
      errors.push(
        fieldError.forbidden(path, `must not have more than ${rulesMax} validation rules`),
      );
    if (text > ruleTextMax)
      errors.push(
        fieldError.forbidden(
          path,
          `must not have more than ${ruleTextMax} characters of validation rules`,
        ),
      );
  }
  return errors;
}

interface RuleCount {
  rules: number;
  text: number;
}

/** Counts everything that looks like a list of rules, anywhere: this limit precedes validation. */
function countRules(schema: JsonValue | undefined): RuleCount {
  const count: RuleCount = { rules: 0, text: 0 };
  const pending: JsonValue[] = schema === undefined ? [] : [schema];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) {
      for (const item of value as readonly JsonValue[]) pending.push(item);
      continue;
    }
    const object = value as { readonly [key: string]: JsonValue };
    for (const key of Object.keys(object)) {
      const member = object[key] as JsonValue;
      if (key === "x-kubernetes-validations" && Array.isArray(member)) addRules(member, count);
      else if (typeof member === "object") pending.push(member);
    }
  }
  return count;
}

function addRules(rules: readonly JsonValue[], count: RuleCount): void {
  count.rules += rules.length;
  for (const rule of rules) {
    if (!isJsonObject(rule)) continue;
    for (const text of [rule["rule"], rule["messageExpression"]])
      if (typeof text === "string") count.text += text.length;
  }
}
