/** The rules of HorizontalPodAutoscalers of autoscaling/v2, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { dnsLabelErrors, pathSegmentErrors } from "@kcp-ts/machinery/names";
import { isNegativeQuantity } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { containerResourceNameErrors } from "../core/resource-rules.ts";
import { nameErrorsAt, negativeErrors, negativeQuantityErrors, required } from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";

const periodSecondsMax = 1800;
const stabilizationSecondsMax = 3600;
/** The field of each type of metric, in the order in which Kubernetes looks at them. */
const sources = {
  Object: "object",
  External: "external",
  Pods: "pods",
  Resource: "resource",
  ContainerResource: "containerResource",
} as const;

export function autoscalerErrors(object: JsonObject, old?: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const before = old && objectIn(old, "spec");
  return [
    ...limitErrors(spec, before),
    ...referenceErrors(objectIn(spec, "scaleTargetRef"), "spec.scaleTargetRef", {
      allowsNoGroup: textIn(objectIn(spec, "scaleTargetRef"), "kind") === "ReplicationController",
      isKnown: before !== undefined && isSameKind(spec, before),
    }),
    ...itemErrors<JsonObject>(spec["metrics"], "spec.metrics", metricErrors),
    ...zeroErrors(spec),
    ...["scaleUp", "scaleDown"].flatMap((rules) =>
      scalingErrors(objectIn(spec, "behavior")[rules], `spec.behavior.${rules}`),
    ),
  ];
}

export function autoscalerStatusErrors(object: JsonObject): FieldError[] {
  const counts = ["currentReplicas", "desiredReplicas"];
  return negativeErrors(objectIn(object, "status"), counts, "status");
}

function limitErrors(spec: JsonObject, before: JsonObject | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const [min, max] = [spec["minReplicas"] as number | undefined, Number(spec["maxReplicas"] ?? 0)];
  const lowest = before?.["minReplicas"] === 0 ? 0 : 1;
  if (min !== undefined && min < lowest)
    errors.push(
      fieldError.invalid("spec.minReplicas", min, `must be greater than or equal to ${lowest}`),
    );
  if (max === 0)
    errors.push(fieldError.required("spec.maxReplicas", "must be set and greater than 0"));
  else if (max < 0)
    errors.push(fieldError.invalid("spec.maxReplicas", max, "must be greater than or equal to 1"));
  if (min !== undefined && max < min)
    errors.push(
      fieldError.invalid("spec.maxReplicas", max, "must be greater than or equal to `minReplicas`"),
    );
  return errors;
}

/** Only metrics from outside can tell that the first replica is needed. */
function zeroErrors(spec: JsonObject): FieldError[] {
  const types = listIn(spec["metrics"]).map((one) => textIn(one as JsonObject, "type"));
  if (spec["minReplicas"] !== 0 || types.includes("Object") || types.includes("External"))
    return [];
  const detail =
    "must specify at least one Object or External metric to support scaling to zero replicas";
  return [fieldError.forbidden("spec.metrics", detail)];
}

function isSameKind(spec: JsonObject, before: JsonObject): boolean {
  const [now, then] = [objectIn(spec, "scaleTargetRef"), objectIn(before, "scaleTargetRef")];
  return (
    textIn(now, "kind") === textIn(then, "kind") &&
    textIn(now, "apiVersion") === textIn(then, "apiVersion")
  );
}

function referenceErrors(
  reference: JsonObject,
  field: string,
  { allowsNoGroup, isKnown = false }: { allowsNoGroup: boolean; isKnown?: boolean },
): FieldError[] {
  const errors = ["kind", "name"].flatMap((member) => {
    const text = textIn(reference, member);
    return text === ""
      ? [fieldError.required(`${field}.${member}`)]
      : nameErrorsAt(text, `${field}.${member}`, pathSegmentErrors);
  });
  const version = textIn(reference, "apiVersion");
  const slashes = version.split("/").length - 1;
  if (isKnown) return errors;
  if (slashes > 1)
    errors.push(
      fieldError.invalid(
        `${field}.apiVersion`,
        version,
        `unexpected GroupVersion string: ${version}`,
      ),
    );
  else if (!allowsNoGroup && (slashes === 0 || version.startsWith("/")))
    errors.push(
      fieldError.invalid(`${field}.apiVersion`, version, "apiVersion must specify API group"),
    );
  return errors;
}

function metricErrors(metric: JsonObject, field: string): FieldError[] {
  const type = textIn(metric, "type");
  const errors: FieldError[] = [];
  const unsupported = fieldError.notSupported(`${field}.type`, type, Object.keys(sources).sort());
  if (type === "")
    errors.push(fieldError.required(`${field}.type`, "must specify a metric source type"));
  const expected = (sources as Readonly<Record<string, string>>)[type];
  if (expected === undefined) errors.push(unsupported);
  const present = Object.values(sources).filter((source) => isJsonObject(metric[source]));
  const [first] = present;
  if (first !== undefined)
    errors.push(...sourceErrors[first](objectIn(metric, first), `${field}.${first}`));
  if (expected === undefined) errors.push(unsupported);
  else if (!present.some((source) => source === expected))
    errors.push(
      fieldError.required(
        `${field}.${expected}`,
        "must populate information for the given metric source",
      ),
    );
  if (present.length !== 1)
    for (const source of present)
      if (source !== expected)
        errors.push(
          fieldError.forbidden(`${field}.${source}`, "must populate the given metric source only"),
        );
  return errors;
}

type SourceErrors = (source: JsonObject, field: string) => FieldError[];

const sourceErrors: Readonly<Record<(typeof sources)[keyof typeof sources], SourceErrors>> = {
  object: (source, field) => [
    ...referenceErrors(objectIn(source, "describedObject"), `${field}.describedObject`, {
      allowsNoGroup: true,
    }),
    ...namedMetricErrors(source, field),
    ...missingTarget(
      source,
      field,
      ["value", "averageValue"],
      "must set either a target value or averageValue",
    ),
  ],
  external: (source, field) => [
    ...namedMetricErrors(source, field),
    ...missingTarget(
      source,
      field,
      ["value", "averageValue"],
      "must set either a target value for metric or a per-pod target",
    ),
    ...bothTargets(
      source,
      field,
      ["value", "averageValue"],
      "may not set both a target value for metric and a per-pod target",
    ),
  ],
  pods: (source, field) => [
    ...namedMetricErrors(source, field),
    ...missingTarget(
      source,
      field,
      ["averageValue"],
      "must specify a positive target averageValue",
    ),
  ],
  resource: (source, field) => [
    ...(textIn(source, "name") === ""
      ? [fieldError.required(`${field}.name`, "must specify a resource name")]
      : []),
    ...utilizationErrors(source, field),
  ],
  containerResource: (source, field) => {
    const [name, container] = [textIn(source, "name"), textIn(source, "container")];
    return [
      ...(name === ""
        ? [fieldError.required(`${field}.name`, "must specify a resource name")]
        : containerResourceNameErrors(name, `${field}.name`)),
      ...(container === ""
        ? [fieldError.required(`${field}.container`, "must specify a container")]
        : nameErrorsAt(container, `${field}.container`, dnsLabelErrors)),
      ...utilizationErrors(source, field),
    ];
  },
};

function utilizationErrors(source: JsonObject, field: string): FieldError[] {
  return [
    ...targetErrors(source, field),
    ...missingTarget(
      source,
      field,
      ["averageValue", "averageUtilization"],
      "must set either a target raw value or a target utilization",
    ),
    ...bothTargets(
      source,
      field,
      ["averageValue", "averageUtilization"],
      "may not set both a target raw value and a target utilization",
    ),
  ];
}

function namedMetricErrors(source: JsonObject, field: string): FieldError[] {
  const name = textIn(objectIn(source, "metric"), "name");
  return [
    ...(name === ""
      ? [fieldError.required(`${field}.metric.name`, "must specify a metric name")]
      : nameErrorsAt(name, `${field}.metric.name`, pathSegmentErrors)),
    ...targetErrors(source, field),
  ];
}

/** The last of the members is the one that is missed. */
function missingTarget(
  source: JsonObject,
  field: string,
  members: readonly string[],
  detail: string,
): FieldError[] {
  const target = objectIn(source, "target");
  if (members.some((member) => target[member] !== undefined)) return [];
  return [fieldError.required(`${field}.target.${members.at(-1)}`, detail)];
}

/** The first of the members is the one that is too many. */
function bothTargets(
  source: JsonObject,
  field: string,
  members: readonly string[],
  detail: string,
): FieldError[] {
  const target = objectIn(source, "target");
  if (members.some((member) => target[member] === undefined)) return [];
  return [fieldError.forbidden(`${field}.target.${members[0]}`, detail)];
}

function targetErrors(source: JsonObject, outer: string): FieldError[] {
  const target = objectIn(source, "target");
  const field = `${outer}.target`;
  const type = textIn(target, "type");
  const errors = required(target, "type", field).map(() =>
    fieldError.required(`${field}.type`, "must specify a metric target type"),
  );
  if (!["Utilization", "Value", "AverageValue"].includes(type))
    errors.push(
      fieldError.invalid(
        `${field}.type`,
        type,
        "must be either Utilization, Value, or AverageValue",
      ),
    );
  for (const member of ["value", "averageValue"]) {
    const value = target[member];
    if (value !== undefined && !isPositive(value))
      errors.push(fieldError.invalid(`${field}.${member}`, value, "must be positive"));
  }
  const utilization = target["averageUtilization"];
  if (utilization !== undefined && Number(utilization) < 1)
    errors.push(
      fieldError.invalid(`${field}.averageUtilization`, utilization, "must be greater than 0"),
    );
  return errors;
}

function isPositive(quantity: JsonValue): boolean {
  return quantity !== "0" && !isNegativeQuantity(String(quantity));
}

function scalingErrors(rules: JsonValue | undefined, field: string): FieldError[] {
  if (!isJsonObject(rules)) return [];
  const errors: FieldError[] = [];
  const window = rules["stabilizationWindowSeconds"];
  const windowError = (detail: string) =>
    errors.push(fieldError.invalid(`${field}.stabilizationWindowSeconds`, window ?? null, detail));
  if (Number(window ?? 0) < 0) windowError("must be greater than or equal to zero");
  if (Number(window ?? 0) > stabilizationSecondsMax)
    windowError(`must be less than or equal to ${stabilizationSecondsMax}`);
  const select = rules["selectPolicy"];
  const selections = ["Disabled", "Max", "Min"];
  if (select !== undefined && !selections.includes(String(select)))
    errors.push(fieldError.notSupported(`${field}.selectPolicy`, select, selections));
  if (listIn(rules["policies"]).length === 0)
    errors.push(fieldError.required(`${field}.policies`, "must specify at least one Policy"));
  errors.push(...itemErrors<JsonObject>(rules["policies"], `${field}.policies`, policyErrors));
  const { tolerance } = rules;
  if (tolerance !== undefined)
    errors.push(...negativeQuantityErrors(tolerance, `${field}.tolerance`));
  return errors;
}

function policyErrors(policy: JsonObject, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const types = ["Percent", "Pods"];
  const type = textIn(policy, "type");
  if (!types.includes(type)) errors.push(fieldError.notSupported(`${field}.type`, type, types));
  for (const member of ["value", "periodSeconds"]) {
    const value = Number(policy[member] ?? 0);
    if (value <= 0)
      errors.push(fieldError.invalid(`${field}.${member}`, value, "must be greater than zero"));
    if (member === "periodSeconds" && value > periodSecondsMax)
      errors.push(
        fieldError.invalid(
          `${field}.${member}`,
          value,
          `must be less than or equal to ${periodSecondsMax}`,
        ),
      );
  }
  return errors;
}
