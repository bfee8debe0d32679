/** The rules of kinds that create Pods from a template and find them by a selector. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  type LabelSelectorObject,
  type Labels,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { templateErrors } from "../core/pod-rules.ts";
import { labelSelectorErrors } from "../label-selector-errors.ts";
import { listIn, objectIn, textIn } from "../standard.ts";

export const noSelectorMatch = "`selector` does not match template `labels`";

export interface TemplateOwner {
  /** As Kubernetes' messages name the kind: `deployment`. */
  readonly name: string;
  /** As the message about deadlines names it: `ReplicaSet`. */
  readonly deadlineName: string;
  /** A missing selector is reported only because it matches nothing. */
  readonly mayLackSelector?: boolean;
  /** What the kind says besides of a selector that is none; such a kind ignores the template. */
  readonly malformed?: string;
  /** Volumes that the kind adds to its Pods. */
  readonly claimed?: readonly string[];
}

/** A selector must exist, not be empty, and match the labels of the template. */
export function selectedTemplateErrors(
  spec: JsonObject,
  { name, deadlineName, malformed, claimed = [], mayLackSelector = false }: TemplateOwner,
): FieldError[] {
  const { selector } = spec;
  const isGiven = isJsonObject(selector);
  const errors = isGiven || !mayLackSelector ? selectorErrors(selector, name) : [];
  const isMalformed = labelSelectorErrors(selector, "spec.selector").length > 0;
  if (isMalformed && malformed !== undefined)
    return [...errors, fieldError.invalid("spec.selector", selector as JsonValue, malformed)];
  const template = objectIn(spec, "template");
  const { labels } = objectIn(template, "metadata");
  if (!isGiven || (errors.length === 0 && !matchesSelector(selector, labels)))
    errors.push(
      fieldError.invalid("spec.template.metadata.labels", labels ?? null, noSelectorMatch),
    );
  errors.push(...templateErrors(template, "spec.template", claimed));
  const podSpec = objectIn(template, "spec");
  const policy = textIn(podSpec, "restartPolicy");
  if (policy !== "Always")
    errors.push(fieldError.notSupported("spec.template.spec.restartPolicy", policy, ["Always"]));
  if (podSpec["activeDeadlineSeconds"] !== undefined)
    errors.push(
      fieldError.forbidden(
        "spec.template.spec.activeDeadlineSeconds",
        `activeDeadlineSeconds in ${deadlineName} is not Supported`,
      ),
    );
  return errors;
}

export function matchesSelector(selector: JsonObject, labels: JsonValue | undefined): boolean {
  const parsed = selectorFromLabelSelectorObject(selector as LabelSelectorObject);
  return parsed.matches((labels ?? {}) as unknown as Labels);
}

function selectorErrors(selector: JsonObject[string] | undefined, name: string): FieldError[] {
  if (!isJsonObject(selector)) return [fieldError.required("spec.selector")];
  const errors = labelSelectorErrors(selector, "spec.selector");
  if (isEmptySelector(selector))
    errors.push(
      fieldError.invalid("spec.selector", selector, `empty selector is invalid for ${name}`),
    );
  return errors;
}

export function isEmptySelector(selector: JsonObject): boolean {
  return (
    Object.keys(objectIn(selector, "matchLabels")).length === 0 &&
    listIn(selector["matchExpressions"]).length === 0
  );
}
