/** Rules of where Pods may run, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { dnsLabelErrors, dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { labelSelectorErrors } from "../label-selector-errors.ts";
import { labelNameErrorsAt, labelValueErrorsAt, nameErrorsAt, oneOf } from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

export function affinityErrors(affinity: JsonObject, field: string): FieldError[] {
  const errors = nodeAffinityErrors(objectIn(affinity, "nodeAffinity"), `${field}.nodeAffinity`);
  for (const member of ["podAffinity", "podAntiAffinity"]) {
    const terms = objectIn(affinity, member);
    errors.push(
      ...itemErrors<JsonObject>(terms[required], `${field}.${member}.${required}`, podTermErrors),
      ...itemErrors<JsonObject>(terms[preferred], `${field}.${member}.${preferred}`, (term, at) => [
        ...weightErrors(term, at),
        ...podTermErrors(objectIn(term, "podAffinityTerm"), `${at}.podAffinityTerm`),
      ]),
    );
  }
  return errors;
}

function podTermErrors(term: JsonObject, at: string): FieldError[] {
  const key = textIn(term, "topologyKey");
  const field = `${at}.topologyKey`;
  return [
    ...labelSelectorErrors(term["labelSelector"], `${at}.labelSelector`),
    ...labelSelectorErrors(term["namespaceSelector"], `${at}.namespaceSelector`),
    ...itemErrors<string>(term["namespaces"], at, (name) =>
      nameErrorsAt(name, `${at}.namespace`, dnsLabelErrors),
    ),
    ...labelKeyErrors(term, at),
    ...(key === "" ? [fieldError.required(field, "can not be empty")] : []),
    ...labelNameErrorsAt(key, field),
  ];
}

/** Keys whose values are those of the Pod: only a selector can use them. */
function labelKeyErrors(term: JsonObject, at: string): FieldError[] {
  const { labelSelector } = term;
  const [matched, others] = [listIn(term["matchLabelKeys"]), listIn(term["mismatchLabelKeys"])];
  const errors = ["matchLabelKeys", "mismatchLabelKeys"].flatMap((member) => {
    const field = `${at}.${member}`;
    const keys = listIn(term[member]);
    if (keys.length === 0) return [];
    return isJsonObject(labelSelector)
      ? itemErrors<string>(keys as JsonValue, field, labelNameErrorsAt)
      : [fieldError.forbidden(field, "must not be specified when labelSelector is not set")];
  });
  const twice = (index: number, name: string, other: string, path: string) =>
    errors.push(
      fieldError.invalid(`${path}[${index}]`, name, `exists in both matchLabelKeys and ${other}`),
    );
  const seen = new Set(Object.keys(objectIn(term, "labelSelector")["matchLabels"] ?? {}));
  const lastIndexes = new Map(matched.map((key, index) => [key, index]));
  if (isJsonObject(labelSelector))
    for (const requirement of listIn(labelSelector["matchExpressions"]) as readonly JsonObject[]) {
      const key = textIn(requirement, "key");
      const index = lastIndexes.get(key);
      if (index !== undefined && seen.has(key)) twice(index, key, "labelSelector", at);
      seen.add(key);
    }
  const mismatched = new Set(others);
  for (const [index, key] of matched.entries())
    if (mismatched.has(key)) twice(index, String(key), "mismatchLabelKeys", `${at}.matchLabelKeys`);
  return errors;
}

function weightErrors(term: JsonObject, at: string): FieldError[] {
  const weight = Number(term["weight"] ?? 0);
  return weight >= 1 && weight <= 100
    ? []
    : [fieldError.invalid(`${at}.weight`, weight, "must be in the range 1-100")];
}

function nodeAffinityErrors(affinity: JsonObject, field: string): FieldError[] {
  const needed = affinity[required];
  return [
    ...(isJsonObject(needed) ? nodeSelectorErrors(needed, `${field}.${required}`) : []),
    ...itemErrors<JsonObject>(affinity[preferred], `${field}.${preferred}`, (term, at) => [
      ...weightErrors(term, at),
      // A value that no node has only makes a preference useless.
      ...nodeTermErrors(objectIn(term, "preference"), `${at}.preference`, false),
    ]),
  ];
}

export function nodeSelectorErrors(selector: JsonObject, field: string): FieldError[] {
  const at = `${field}.nodeSelectorTerms`;
  if (listIn(selector["nodeSelectorTerms"]).length === 0)
    return [fieldError.required(at, "must have at least one node selector term")];
  return itemErrors<JsonObject>(selector["nodeSelectorTerms"], at, (term, place) =>
    nodeTermErrors(term, place, true),
  );
}

function nodeTermErrors(term: JsonObject, at: string, checksValues: boolean): FieldError[] {
  return [
    ...itemErrors<JsonObject>(term["matchExpressions"], `${at}.matchExpressions`, (one, field) => [
      ...operatorErrors(one, field),
      ...labelNameErrorsAt(textIn(one, "key"), `${field}.key`),
      ...(checksValues
        ? itemErrors<string>(one["values"], `${field}.values`, labelValueErrorsAt)
        : []),
    ]),
    ...itemErrors<JsonObject>(term["matchFields"], `${at}.matchFields`, nodeFieldErrors),
  ];
}

const notAnOperator = "not a valid selector operator";

function operatorErrors(requirement: JsonObject, field: string): FieldError[] {
  const count = listIn(requirement["values"]).length;
  const operator = textIn(requirement, "operator");
  const at = `${field}.values`;
  switch (operator) {
    case "In":
    case "NotIn": {
      const detail = "must be specified when `operator` is 'In' or 'NotIn'";
      return count === 0 ? [fieldError.required(at, detail)] : [];
    }
    case "Exists":
    case "DoesNotExist": {
      const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      return count > 0 ? [fieldError.forbidden(at, detail)] : [];
    }
    case "Gt":
    case "Lt": {
      const detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
      return count !== 1 ? [fieldError.required(at, detail)] : [];
    }
    default:
      return [fieldError.invalid(`${field}.operator`, operator, notAnOperator)];
  }
}

/** Of the fields of a node, only its name can be selected. */
function nodeFieldErrors(requirement: JsonObject, field: string): FieldError[] {
  const [operator, key] = [textIn(requirement, "operator"), textIn(requirement, "key")];
  const isKnown = operator === "In" || operator === "NotIn";
  const errors: FieldError[] = [];
  if (!isKnown) errors.push(fieldError.invalid(`${field}.operator`, operator, notAnOperator));
  else if (listIn(requirement["values"]).length !== 1)
    errors.push(
      fieldError.required(
        `${field}.values`,
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
      ),
    );
  if (key !== "metadata.name")
    return [...errors, fieldError.invalid(`${field}.key`, key, "not a valid field selector key")];
  return [
    ...errors,
    ...itemErrors<string>(requirement["values"], `${field}.values`, (name, at) =>
      nameErrorsAt(name, at, dnsSubdomainErrors),
    ),
  ];
}

const reactions = ["DoNotSchedule", "ScheduleAnyway"];
const policies = ["Honor", "Ignore"];

export function spreadErrors(constraints: JsonValue | undefined, field: string): FieldError[] {
  const all = listIn(constraints) as readonly JsonObject[];
  const lastIndexes = new Map(all.map((constraint, index) => [keyOf(constraint), index]));
  return itemErrors<JsonObject>(constraints, field, (constraint, at, index) => {
    const errors: FieldError[] = [];
    const skew = Number(constraint["maxSkew"] ?? 0);
    if (skew <= 0)
      errors.push(fieldError.invalid(`${at}.maxSkew`, skew, "must be greater than zero"));
    const [key, reaction] = [textIn(constraint, "topologyKey"), whenOf(constraint)];
    if (key === "") errors.push(fieldError.required(`${at}.topologyKey`, "can not be empty"));
    if (!reactions.includes(reaction))
      errors.push(fieldError.notSupported(`${at}.whenUnsatisfiable`, reaction, reactions));
    if (lastIndexes.get(keyOf(constraint)) !== index)
      errors.push(
        fieldError.duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${key}, ${reaction}}`),
      );
    return [
      ...errors,
      ...domainErrors(constraint, reaction, `${at}.minDomains`),
      ...["nodeAffinityPolicy", "nodeTaintsPolicy"].flatMap((member) =>
        constraint[member] === undefined || policies.includes(textIn(constraint, member))
          ? []
          : [fieldError.notSupported(`${at}.${member}`, constraint[member], policies)],
      ),
      ...labelKeyErrors(constraint, at),
      ...labelSelectorErrors(constraint["labelSelector"], `${at}.labelSelector`),
    ];
  });
}

/** Two constraints with the same key contradict each other. */
function keyOf(constraint: JsonObject): string {
  return JSON.stringify([textIn(constraint, "topologyKey"), whenOf(constraint)]);
}

function whenOf(constraint: JsonObject): string {
  return textIn(constraint, "whenUnsatisfiable");
}

function domainErrors(constraint: JsonObject, reaction: string, at: string): FieldError[] {
  const { minDomains } = constraint;
  if (minDomains === undefined) return [];
  const errors: FieldError[] = [];
  if (Number(minDomains) <= 0)
    errors.push(fieldError.invalid(at, minDomains, "must be greater than zero"));
  if (reaction !== "DoNotSchedule") {
    const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${reaction}`;
    errors.push(fieldError.invalid(at, minDomains, detail));
  }
  return errors;
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function tolerationErrors(tolerations: JsonValue | undefined, field: string): FieldError[] {
  return itemErrors<JsonObject>(tolerations, field, (toleration, at) => {
    const [key, value] = [textIn(toleration, "key"), textIn(toleration, "value")];
    const [operator, effect] = [textIn(toleration, "operator"), textIn(toleration, "effect")];
    const errors = key === "" ? [] : labelNameErrorsAt(key, `${at}.key`);
    const invalid = (member: string, shown: string, detail: string) =>
      errors.push(fieldError.invalid(`${at}.${member}`, shown, detail));
    if (key === "" && operator !== "Exists")
      invalid(
        "operator",
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      );
    if (toleration["tolerationSeconds"] !== undefined && effect !== "NoExecute")
      invalid("effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (operator === "Exists") {
      if (value !== "")
        invalid("operator", value, "value must be empty when `operator` is 'Exists'");
    } else if (operator === "Equal" || operator === "") {
      errors.push(...labelValueErrorsAt(value, `${at}.operator`));
    } else errors.push(...oneOf(toleration, "operator", ["Equal", "Exists"], at));
    return effect === "" ? errors : [...errors, ...oneOf(toleration, "effect", effects, at)];
  });
}
