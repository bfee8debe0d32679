/**
 * Validation of Pods and Pod templates, in the words and the order of Kubernetes. It contains the
 * rules that users encounter, not all of them.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { annotationErrors, labelErrors } from "@kcp-ts/machinery/meta";
import { dnsLabelErrors, dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import {
  labelNameErrorsAt,
  labelValueErrorsAt,
  nameErrorsAt,
  oneOf,
  oneOfIfSet,
  required,
  requiredLabel,
} from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { type ContainerScope, containerErrors, probeErrorsOf } from "./container-rules.ts";
import { volumeErrors } from "./volume-rules.ts";

const restartPolicies = ["Always", "OnFailure", "Never"];
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const deadlineMax = 2 ** 31 - 1;

/** `claimed` are volumes from elsewhere: the claims of a StatefulSet. */
export function templateErrors(
  template: JsonObject,
  field: string,
  claimed: readonly string[] = [],
): FieldError[] {
  const metadata = objectIn(template, "metadata");
  const spec = objectIn(template, "spec");
  return [
    ...labelErrors(objectIn(metadata, "labels") as Record<string, string>, `${field}.labels`),
    ...annotationErrors(
      objectIn(metadata, "annotations") as Record<string, string>,
      `${field}.annotations`,
    ),
    ...podSpecErrors(spec, `${field}.spec`, claimed),
    ...(listIn(spec["ephemeralContainers"]).length === 0
      ? []
      : [
          fieldError.forbidden(
            `${field}.spec.ephemeralContainers`,
            "ephemeral containers not allowed in pod template",
          ),
        ]),
  ];
}

export function podSpecErrors(
  spec: JsonObject,
  field: string,
  claimed: readonly string[] = [],
): FieldError[] {
  const { names, errors } = volumeErrors(spec["volumes"], `${field}.volumes`);
  const scope: ContainerScope = { volumes: new Set([...names, ...claimed]), names: new Set() };
  errors.push(
    ...allContainerErrors(spec, field, scope),
    ...oneOf(spec, "restartPolicy", restartPolicies, field),
    ...oneOf(spec, "dnsPolicy", dnsPolicies, field),
    ...labelErrors(
      objectIn(spec, "nodeSelector") as Record<string, string>,
      `${field}.nodeSelector`,
    ),
    ...itemErrors<JsonObject>(
      spec["imagePullSecrets"],
      `${field}.imagePullSecrets`,
      (secret, at) => (textIn(secret, "name") === "" ? required(secret, "name", at) : []),
    ),
    ...affinityErrors(objectIn(spec, "affinity"), `${field}.affinity`),
    ...itemErrors<JsonObject>(spec["readinessGates"], `${field}.readinessGates`, (gate, at) =>
      labelNameErrorsAt(textIn(gate, "conditionType"), `${at}.conditionType`),
    ),
    ...spreadErrors(spec["topologySpreadConstraints"], `${field}.topologySpreadConstraints`),
    ...nameMemberErrors(spec, field, "serviceAccountName"),
    ...nameMemberErrors(spec, field, "nodeName"),
    ...deadlineErrors(spec, field),
    ...nameMemberErrors(spec, field, "hostname", dnsLabelErrors),
    ...nameMemberErrors(spec, field, "subdomain", dnsLabelErrors),
    ...tolerationErrors(spec["tolerations"], `${field}.tolerations`),
    ...nameMemberErrors(spec, field, "priorityClassName"),
    ...nameMemberErrors(spec, field, "runtimeClassName"),
    ...oneOfIfSet(spec, "preemptionPolicy", ["PreemptLowerPriority", "Never"], field),
  );
  return errors;
}

function allContainerErrors(spec: JsonObject, field: string, scope: ContainerScope): FieldError[] {
  if (listIn(spec["containers"]).length === 0) return [fieldError.required(`${field}.containers`)];
  const isMain = (container: JsonObject) => textIn(container, "restartPolicy") === "Always";
  return [
    ...itemErrors<JsonObject>(spec["containers"], `${field}.containers`, (container, at) => [
      ...containerErrors(container, at, scope),
      ...probeErrorsOf(container, at),
    ]),
    ...hostPortErrors(spec["containers"], `${field}.containers`),
    ...(spec["hostNetwork"] === true
      ? itemErrors<JsonObject>(spec["containers"], `${field}.containers`, otherHostPortErrors)
      : []),
    ...itemErrors<JsonObject>(
      spec["initContainers"],
      `${field}.initContainers`,
      (container, at) => [
        ...containerErrors(container, at, scope),
        ...(isMain(container) ? probeErrorsOf(container, at) : noProbeErrors(container, at)),
      ],
    ),
  ];
}

function noProbeErrors(container: JsonObject, at: string): FieldError[] {
  return ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"]
    .filter((member) => container[member] !== undefined)
    .map((member) =>
      fieldError.forbidden(
        `${at}.${member}`,
        "may not be set for init containers without restartPolicy=Always",
      ),
    );
}

/** A template may omit the port of the host: its Pods get it. */
function otherHostPortErrors(container: JsonObject, field: string): FieldError[] {
  return itemErrors<JsonObject>(container["ports"], `${field}.ports`, (port, at) => {
    const [host, own] = [Number(port["hostPort"] ?? 0), Number(port["containerPort"] ?? 0)];
    const detail = "must match `containerPort` when `hostNetwork` is true";
    return host === 0 || host === own ? [] : [fieldError.invalid(`${at}.hostPort`, host, detail)];
  });
}

/** Two containers of a Pod cannot listen on the same port of the node. */
function hostPortErrors(containers: JsonValue | undefined, field: string): FieldError[] {
  const taken = new Set<string>();
  return itemErrors<JsonObject>(containers, field, (container, at) =>
    itemErrors<JsonObject>(container["ports"], `${at}.ports`, (port, atPort) => {
      const number = Number(port["hostPort"] ?? 0);
      if (number === 0) return [];
      const text = `${textIn(port, "protocol")}/${textIn(port, "hostIP")}/${number}`;
      if (taken.has(text)) return [fieldError.duplicate(`${atPort}.hostPort`, text)];
      taken.add(text);
      return [];
    }),
  );
}

function nameMemberErrors(
  spec: JsonObject,
  field: string,
  member: string,
  check = dnsSubdomainErrors,
): FieldError[] {
  const name = textIn(spec, member);
  return name === "" ? [] : nameErrorsAt(name, `${field}.${member}`, check);
}

function deadlineErrors(spec: JsonObject, field: string): FieldError[] {
  const seconds = spec["activeDeadlineSeconds"];
  if (seconds === undefined || (Number(seconds) >= 1 && Number(seconds) <= deadlineMax)) return [];
  const at = `${field}.activeDeadlineSeconds`;
  return [fieldError.invalid(at, seconds, `must be between 1 and ${deadlineMax}, inclusive`)];
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function tolerationErrors(tolerations: JsonValue | undefined, field: string): FieldError[] {
  return itemErrors<JsonObject>(tolerations, field, (toleration, at) => {
    const [key, value] = [textIn(toleration, "key"), textIn(toleration, "value")];
    const [operator, effect] = [textIn(toleration, "operator"), textIn(toleration, "effect")];
    const errors = key === "" ? [] : labelNameErrorsAt(key, `${at}.key`);
    if (key === "" && operator !== "Exists")
      errors.push(
        fieldError.invalid(
          `${at}.operator`,
          operator,
          'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        ),
      );
    if (toleration["tolerationSeconds"] !== undefined && effect !== "NoExecute")
      errors.push(
        fieldError.invalid(
          `${at}.effect`,
          effect,
          "effect must be 'NoExecute' when `tolerationSeconds` is set",
        ),
      );
    if (operator === "Exists") {
      if (value !== "")
        errors.push(
          fieldError.invalid(
            `${at}.operator`,
            value,
            "value must be empty when `operator` is 'Exists'",
          ),
        );
    } else if (operator === "Equal" || operator === "") {
      errors.push(...labelValueErrorsAt(value, `${at}.operator`));
    } else errors.push(...oneOf(toleration, "operator", ["Equal", "Exists"], at));
    return effect === "" ? errors : [...errors, ...oneOf(toleration, "effect", effects, at)];
  });
}

function affinityErrors(affinity: JsonObject, field: string): FieldError[] {
  const node = objectIn(affinity, "nodeAffinity");
  const errors = nodeAffinityErrors(node, `${field}.nodeAffinity`);
  for (const member of ["podAffinity", "podAntiAffinity"]) {
    const terms = objectIn(affinity, member);
    errors.push(
      ...itemErrors<JsonObject>(
        terms["requiredDuringSchedulingIgnoredDuringExecution"],
        `${field}.${member}.requiredDuringSchedulingIgnoredDuringExecution`,
        podTermErrors,
      ),
      ...itemErrors<JsonObject>(
        terms["preferredDuringSchedulingIgnoredDuringExecution"],
        `${field}.${member}.preferredDuringSchedulingIgnoredDuringExecution`,
        (term, at) => [
          ...weightErrors(term, at),
          ...podTermErrors(objectIn(term, "podAffinityTerm"), `${at}.podAffinityTerm`),
        ],
      ),
    );
  }
  return errors;
}

function podTermErrors(term: JsonObject, at: string): FieldError[] {
  const key = textIn(term, "topologyKey");
  const field = `${at}.topologyKey`;
  return [
    ...(key === "" ? [fieldError.required(field, "can not be empty")] : []),
    ...labelNameErrorsAt(key, field),
  ];
}

function weightErrors(term: JsonObject, at: string): FieldError[] {
  const weight = Number(term["weight"] ?? 0);
  return weight >= 1 && weight <= 100
    ? []
    : [fieldError.invalid(`${at}.weight`, weight, "must be in the range 1-100")];
}

function nodeAffinityErrors(affinity: JsonObject, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const needed = affinity["requiredDuringSchedulingIgnoredDuringExecution"];
  if (isJsonObject(needed)) {
    const at = `${field}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;
    if (listIn(needed["nodeSelectorTerms"]).length === 0)
      errors.push(fieldError.required(at, "must have at least one node selector term"));
    errors.push(...itemErrors<JsonObject>(needed["nodeSelectorTerms"], at, nodeTermErrors));
  }
  errors.push(
    ...itemErrors<JsonObject>(
      affinity["preferredDuringSchedulingIgnoredDuringExecution"],
      `${field}.preferredDuringSchedulingIgnoredDuringExecution`,
      (term, at) => [
        ...(Number(term["weight"] ?? 0) <= 0 || Number(term["weight"]) > 100
          ? [
              fieldError.invalid(
                `${at}.weight`,
                Number(term["weight"] ?? 0),
                "must be in the range 1-100",
              ),
            ]
          : []),
        ...nodeTermErrors(objectIn(term, "preference"), `${at}.preference`),
      ],
    ),
  );
  return errors;
}

export function nodeTermErrors(term: JsonObject, at: string): FieldError[] {
  return itemErrors<JsonObject>(
    term["matchExpressions"],
    `${at}.matchExpressions`,
    (requirement, field) => {
      const count = listIn(requirement["values"]).length;
      const operator = textIn(requirement, "operator");
      const errors: FieldError[] = [];
      switch (operator) {
        case "In":
        case "NotIn":
          if (count === 0)
            errors.push(
              fieldError.required(
                `${field}.values`,
                "must be specified when `operator` is 'In' or 'NotIn'",
              ),
            );
          break;
        case "Exists":
        case "DoesNotExist":
          if (count > 0)
            errors.push(
              fieldError.forbidden(
                `${field}.values`,
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
              ),
            );
          break;
        case "Gt":
        case "Lt":
          if (count !== 1)
            errors.push(
              fieldError.required(
                `${field}.values`,
                "must be specified single value when `operator` is 'Lt' or 'Gt'",
              ),
            );
          break;
        default:
          errors.push(
            fieldError.invalid(`${field}.operator`, operator, "not a valid selector operator"),
          );
      }
      return [...errors, ...labelNameErrorsAt(textIn(requirement, "key"), `${field}.key`)];
    },
  );
}

function spreadErrors(constraints: JsonValue | undefined, field: string): FieldError[] {
  return itemErrors<JsonObject>(constraints, field, (constraint, at) => {
    const errors: FieldError[] = [];
    const skew = Number(constraint["maxSkew"] ?? 0);
    if (skew <= 0)
      errors.push(fieldError.invalid(`${at}.maxSkew`, skew, "must be greater than zero"));
    const key = textIn(constraint, "topologyKey");
    if (key === "") errors.push(fieldError.required(`${at}.topologyKey`, "can not be empty"));
    else errors.push(...labelNameErrorsAt(key, `${at}.topologyKey`));
    return [
      ...errors,
      ...oneOf(constraint, "whenUnsatisfiable", ["DoNotSchedule", "ScheduleAnyway"], at),
    ];
  });
}

/** Containers that `kubectl debug` adds to a running Pod; those that exist stay as they are. */
export function ephemeralContainerErrors(spec: JsonObject, field: string): FieldError[] {
  return itemErrors<JsonObject>(spec["ephemeralContainers"], field, (container, at) => [
    ...requiredLabel(container, "name", at),
    ...required(container, "image", at),
  ]);
}
