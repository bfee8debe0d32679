/** The validation of workload kinds' selectors, and of fields that may not change. */
import { labelSelectorErrors, listIn, objectIn } from "@kcp-ts/apiserver/kinds";
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
