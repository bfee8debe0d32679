/** Selectors of workload kinds: their validation, and their text in tables. */
import { labelSelectorErrors, listIn, objectIn, textIn } from "@kcp-ts/apiserver/kinds";
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import {
  type LabelSelectorObject,
  type Labels,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";

const noMatch = "`selector` does not match template `labels`";

/** A selector must exist, not be empty, and match the labels of the template. */
export function templateSelectorErrors(spec: JsonObject): FieldError[] {
  const selector = spec["selector"];
  if (!isJsonObject(selector)) return [fieldError.required("spec.selector")];
  const errors = labelSelectorErrors(selector, "spec.selector");
  if (isEmpty(selector))
    errors.push(
      fieldError.invalid("spec.selector", selector, "empty selector is invalid for deployment"),
    );
  if (errors.length > 0) return errors;
  const labels = objectIn(objectIn(objectIn(spec, "template"), "metadata"), "labels");
  const parsed = selectorFromLabelSelectorObject(selector as unknown as LabelSelectorObject);
  if (!parsed.matches(labels as unknown as Labels))
    errors.push(fieldError.invalid("spec.template.metadata.labels", labels, noMatch));
  return errors;
}

function isEmpty(selector: JsonObject): boolean {
  return (
    Object.keys(objectIn(selector, "matchLabels")).length === 0 &&
    listIn(selector["matchExpressions"]).length === 0
  );
}

export function immutableErrors(
  updated: JsonObject,
  old: JsonObject,
  member: string,
  field = `spec.${member}`,
): FieldError[] {
  const [now, before] = [objectIn(updated, "spec")[member], objectIn(old, "spec")[member]];
  if (jsonEqual(now ?? null, before ?? null)) return [];
  return [fieldError.invalid(field, now ?? null, "field is immutable")];
}

/** `app=web,tier in (a,b)`; `<none>` without a selector. */
export function selectorText(selector: unknown): string {
  if (!isJsonObject(selector as JsonObject)) return "<none>";
  const { matchLabels = {}, matchExpressions = [] } = selector as {
    matchLabels?: JsonObject;
    matchExpressions?: JsonObject[];
  };
  const parts = [
    ...Object.entries(matchLabels).map(([key, value]) => ({
      key,
      text: `${key}=${String(value)}`,
    })),
    ...matchExpressions.map((one) => ({ key: textIn(one, "key"), text: expressionText(one) })),
  ];
  parts.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return parts.map(({ text }) => text).join(",");
}

function expressionText(expression: JsonObject): string {
  const key = textIn(expression, "key");
  const values = [...listIn(expression["values"])].map(String).sort().join(",");
  switch (textIn(expression, "operator")) {
    case "In":
      return `${key} in (${values})`;
    case "NotIn":
      return `${key} notin (${values})`;
    case "Exists":
      return key;
    default:
      return `!${key}`;
  }
}
