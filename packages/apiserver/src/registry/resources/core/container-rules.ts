/** Validation of containers, in the words and the order of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import {
  negativeErrors,
  oneOf,
  portNameErrors,
  portNumberErrors,
  portOrNameErrors,
  required,
  requiredLabel,
} from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { environmentErrors, environmentSourceErrors } from "./environment-rules.ts";
import { deviceErrors, mountErrors, type Volumes } from "./mount-rules.ts";
import { type ClaimNames, resourceErrors } from "./resource-rules.ts";
import { containerSecurityErrors } from "./security-rules.ts";

/** What of a Pod the rules of its containers look at. */
export interface ContainerScope {
  readonly spec: JsonObject;
  readonly volumes: Volumes;
  /** The names of its claims of devices. */
  readonly claims: ClaimNames;
  /** The names of the containers so far. */
  readonly names: Set<string>;
}

/** The rules of all types of containers. */
export function containerErrors(
  container: JsonObject,
  at: string,
  { spec, volumes, claims }: ContainerScope,
): FieldError[] {
  return [
    ...requiredLabel(container, "name", at),
    ...required(container, "image", at),
    ...oneOf(container, "terminationMessagePolicy", ["File", "FallbackToLogsOnError"], at),
    ...portErrors(container["ports"], `${at}.ports`),
    ...environmentErrors(container["env"], `${at}.env`),
    ...environmentSourceErrors(container["envFrom"], `${at}.envFrom`),
    ...mountErrors(container, at, volumes),
    ...deviceErrors(container, at, volumes),
    ...oneOf(container, "imagePullPolicy", ["Always", "IfNotPresent", "Never"], at),
    ...resourceErrors(objectIn(container, "resources"), `${at}.resources`, claims),
    ...resizeErrors(container["resizePolicy"], `${at}.resizePolicy`, spec),
    ...containerSecurityErrors(
      objectIn(container, "securityContext"),
      `${at}.securityContext`,
      spec["hostUsers"] !== false,
    ),
  ];
}

/** All resources are reported under one path. */
function resizeErrors(
  policies: JsonValue | undefined,
  field: string,
  spec: JsonObject,
): FieldError[] {
  const seen = new Set<string>();
  return itemErrors<JsonObject>(policies, field, (one, at) => {
    const [name, policy] = [textIn(one, "resourceName"), textIn(one, "restartPolicy")];
    const errors = seen.has(name) ? [fieldError.duplicate(at, name)] : [];
    seen.add(name);
    const choices: readonly (readonly [string, readonly string[]])[] = [
      [name, ["cpu", "memory"]],
      [policy, ["NotRequired", "RestartContainer"]],
    ];
    for (const [value, values] of choices)
      if (value === "") errors.push(fieldError.required(field));
      else if (!values.includes(value)) errors.push(fieldError.notSupported(field, value, values));
    const detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
    if (spec["restartPolicy"] === "Never" && policy !== "NotRequired")
      errors.push(fieldError.invalid(field, policy, detail));
    return errors;
  });
}

const restartPolicies = ["Always", "Never", "OnFailure"];
const rulesMax = 20;
const exitCodesMax = 255;

export function restartErrors(container: JsonObject, at: string): FieldError[] {
  const { restartPolicy } = container;
  const rules = listIn(container["restartPolicyRules"]);
  const [place, field] = [`${at}.restartPolicy`, `${at}.restartPolicyRules`];
  if (restartPolicy === undefined && rules.length === 0) return [];
  const errors =
    restartPolicy === undefined
      ? [fieldError.required(place, "must specify restartPolicy when restart rules are used")]
      : restartPolicies.includes(String(restartPolicy))
        ? []
        : [fieldError.notSupported(place, restartPolicy, restartPolicies)];
  if (rules.length > rulesMax) errors.push(fieldError.tooMany(field, rules.length, rulesMax));
  return [...errors, ...itemErrors<JsonObject>(rules as JsonValue, field, restartRuleErrors)];
}

function restartRuleErrors(rule: JsonObject, at: string): FieldError[] {
  const [actions, operators] = [
    ["Restart", "RestartAllContainers"],
    ["In", "NotIn"],
  ] as const;
  const action = textIn(rule, "action");
  const errors = actions.some((one) => one === action)
    ? []
    : [fieldError.notSupported(`${at}.action`, action, actions)];
  const field = `${at}.exitCodes`;
  if (!isJsonObject(rule["exitCodes"]))
    return [...errors, fieldError.required(field, "must be specified")];
  const codes = objectIn(rule, "exitCodes");
  const operator = textIn(codes, "operator");
  const count = listIn(codes["values"]).length;
  if (!operators.some((one) => one === operator))
    errors.push(fieldError.notSupported(`${field}.operator`, operator, operators));
  if (count > exitCodesMax) errors.push(fieldError.tooMany(`${field}.values`, count, exitCodesMax));
  return errors;
}

export function probeErrorsOf(container: JsonObject, at: string, spec: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const lifecycle = objectIn(container, "lifecycle");
  for (const member of ["postStart", "preStop"])
    if (isJsonObject(lifecycle[member])) {
      const handler = objectIn(lifecycle, member);
      errors.push(...handlerErrors(handler, `${at}.lifecycle.${member}`, spec));
    }
  for (const member of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    if (!isJsonObject(container[member])) continue;
    const [probe, field] = [objectIn(container, member), `${at}.${member}`];
    errors.push(...probeErrors(probe, field, spec));
    const successes = Number(probe["successThreshold"] ?? 0);
    const isReadiness = member === "readinessProbe";
    const { terminationGracePeriodSeconds: seconds } = probe;
    if (!isReadiness && successes !== 1)
      errors.push(fieldError.invalid(`${field}.successThreshold`, successes, "must be 1"));
    if (isReadiness && seconds !== undefined)
      errors.push(
        fieldError.invalid(
          `${field}.terminationGracePeriodSeconds`,
          seconds,
          "must not be set for readinessProbes",
        ),
      );
  }
  return errors;
}

function portErrors(ports: JsonValue | undefined, field: string): FieldError[] {
  const names = new Set<string>();
  return itemErrors<JsonObject>(ports, field, (port, at) => {
    const errors: FieldError[] = [];
    const name = textIn(port, "name");
    if (name !== "") {
      const bad = portNameErrors(name);
      for (const text of bad) errors.push(fieldError.invalid(`${at}.name`, name, text));
      if (bad.length === 0 && names.has(name))
        errors.push(fieldError.duplicate(`${at}.name`, name));
      names.add(name);
    }
    if (Number(port["containerPort"] ?? 0) === 0)
      errors.push(fieldError.required(`${at}.containerPort`));
    else
      errors.push(...portNumberErrors(port["containerPort"] as JsonValue, `${at}.containerPort`));
    if (Number(port["hostPort"] ?? 0) !== 0)
      errors.push(...portNumberErrors(port["hostPort"] as JsonValue, `${at}.hostPort`));
    return [...errors, ...oneOf(port, "protocol", ["SCTP", "TCP", "UDP"], at)];
  });
}

function probeErrors(probe: JsonObject, at: string, spec: JsonObject): FieldError[] {
  const seconds = probe["terminationGracePeriodSeconds"];
  const errors = [
    ...handlerErrors(probe, at, spec),
    ...negativeErrors(
      probe,
      [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
      ],
      at,
    ),
  ];
  const field = `${at}.terminationGracePeriodSeconds`;
  return seconds !== undefined && Number(seconds) <= 0
    ? [...errors, fieldError.invalid(field, seconds, "must be greater than 0")]
    : errors;
}

function handlerErrors(holder: JsonObject, at: string, spec: JsonObject): FieldError[] {
  const handlers = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"].filter(
    (member) => holder[member] !== undefined,
  );
  const [first, ...others] = handlers;
  if (first === undefined) return [fieldError.required(at, "must specify a handler type")];
  return [
    ...actionErrors(first, objectIn(holder, first), `${at}.${first}`, spec),
    ...others.map((member) =>
      fieldError.forbidden(`${at}.${member}`, "may not specify more than 1 handler type"),
    ),
  ];
}

const headerText =
  "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";

function actionErrors(
  kind: string,
  action: JsonObject,
  at: string,
  spec: JsonObject,
): FieldError[] {
  switch (kind) {
    case "exec":
      return listIn(action["command"]).length === 0 ? [fieldError.required(`${at}.command`)] : [];
    case "httpGet":
      return [
        ...required(action, "path", at),
        ...portOrNameErrors(action["port"], `${at}.port`),
        ...oneOf(action, "scheme", ["HTTP", "HTTPS"], at),
        ...itemErrors<JsonObject>(action["httpHeaders"], at, (header) => {
          const name = textIn(header, "name");
          const isValid = /^[-A-Za-z0-9]+$/.test(name);
          return isValid ? [] : [fieldError.invalid(`${at}.httpHeaders`, name, headerText)];
        }),
      ];
    case "tcpSocket":
      return portOrNameErrors(action["port"], `${at}.port`);
    case "grpc":
      return portNumberErrors(action["port"] ?? 0, `${at}.port`);
    default:
      return sleepErrors(action, at, spec);
  }
}

function sleepErrors(action: JsonObject, at: string, spec: JsonObject): FieldError[] {
  const [seconds, grace] = [action["seconds"] ?? 0, spec["terminationGracePeriodSeconds"]];
  if (grace === undefined || (Number(seconds) >= 0 && Number(seconds) <= Number(grace))) return [];
  const detail = `must be non-negative and less than terminationGracePeriodSeconds (${grace})`;
  return [fieldError.invalid(at, seconds, detail)];
}
