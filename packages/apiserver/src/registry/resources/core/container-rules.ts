/** Validation of containers, in the words and the order of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { isIntegerQuantity, quantityNanos } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import {
  negativeErrors,
  negativeQuantityErrors,
  oneOf,
  portNameErrors,
  portNumberErrors,
  portOrNameErrors,
  required,
  requiredLabel,
} from "../rules.ts";
import { itemErrors, objectIn, textIn } from "../standard.ts";

export interface ContainerScope {
  /** The volumes of the Pod. */
  readonly volumes: ReadonlySet<string>;
  /** The names of the containers so far. */
  readonly names: Set<string>;
}

export function containerErrors(
  container: JsonObject,
  at: string,
  { volumes, names }: ContainerScope,
): FieldError[] {
  const name = textIn(container, "name");
  const errors = [
    ...requiredLabel(container, "name", at),
    ...required(container, "image", at),
    ...oneOf(container, "terminationMessagePolicy", ["File", "FallbackToLogsOnError"], at),
    ...portErrors(container["ports"], `${at}.ports`),
    ...envErrors(container["env"], `${at}.env`),
    ...envFromErrors(container["envFrom"], `${at}.envFrom`),
    ...mountErrors(container["volumeMounts"], `${at}.volumeMounts`, volumes),
    ...oneOf(container, "imagePullPolicy", ["Always", "IfNotPresent", "Never"], at),
    ...resourceErrors(objectIn(container, "resources"), `${at}.resources`),
    ...securityErrors(objectIn(container, "securityContext"), `${at}.securityContext`),
  ];
  if (name !== "" && names.has(name)) errors.push(fieldError.duplicate(`${at}.name`, name));
  names.add(name);
  return errors;
}

export function probeErrorsOf(container: JsonObject, at: string): FieldError[] {
  const errors: FieldError[] = [];
  const lifecycle = objectIn(container, "lifecycle");
  for (const member of ["postStart", "preStop"])
    if (isJsonObject(lifecycle[member]))
      errors.push(...handlerErrors(objectIn(lifecycle, member), `${at}.lifecycle.${member}`));
  for (const member of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    if (!isJsonObject(container[member])) continue;
    const probe = objectIn(container, member);
    errors.push(...probeErrors(probe, `${at}.${member}`));
    const successes = Number(probe["successThreshold"] ?? 0);
    if (member !== "readinessProbe" && successes !== 1)
      errors.push(fieldError.invalid(`${at}.${member}.successThreshold`, successes, "must be 1"));
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

const envSources = [
  "fieldRef",
  "resourceFieldRef",
  "configMapKeyRef",
  "secretKeyRef",
  "fileKeyRef",
] as const;

const envNameText =
  "a valid environment variable name must consist only of printable ASCII characters other than '='";

function envErrors(env: JsonValue | undefined, field: string): FieldError[] {
  return itemErrors<JsonObject>(env, field, (variable, at) => {
    const errors = required(variable, "name", at);
    const name = textIn(variable, "name");
    if (name !== "" && /[^\x20-\x7e]|=/.test(name))
      errors.push(fieldError.invalid(`${at}.name`, name, envNameText));
    if (!isJsonObject(variable["valueFrom"])) return errors;
    return [...errors, ...valueFromErrors(variable, `${at}.valueFrom`)];
  });
}

function valueFromErrors(variable: JsonObject, at: string): FieldError[] {
  const from = objectIn(variable, "valueFrom");
  const sources = envSources.filter((source) => from[source] !== undefined);
  const errors: FieldError[] = [];
  for (const source of ["configMapKeyRef", "secretKeyRef"] as const)
    if (isJsonObject(from[source]))
      errors.push(...required(objectIn(from, source), "key", `${at}.${source}`));
  if (isJsonObject(from["fieldRef"]))
    errors.push(...required(objectIn(from, "fieldRef"), "fieldPath", `${at}.fieldRef`));
  const message =
    sources.length === 0
      ? "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
      : textIn(variable, "value") !== ""
        ? "may not be specified when `value` is not empty"
        : sources.length > 1
          ? "may not have more than one field specified at a time"
          : undefined;
  return message === undefined ? errors : [...errors, fieldError.invalid(at, "", message)];
}

function envFromErrors(sources: JsonValue | undefined, field: string): FieldError[] {
  return itemErrors<JsonObject>(sources, field, (source, at) => {
    const given = ["configMapRef", "secretRef"].filter((one) => source[one] !== undefined);
    const errors = given.flatMap((one) => required(objectIn(source, one), "name", `${at}.${one}`));
    if (given.length === 1) return errors;
    const message =
      given.length === 0
        ? "must specify one of: `configMapRef` or `secretRef`"
        : "may not have more than one field specified at a time";
    return [...errors, fieldError.invalid(field, "", message)];
  });
}

function mountErrors(
  mounts: JsonValue | undefined,
  field: string,
  volumes: ReadonlySet<string>,
): FieldError[] {
  const paths = new Set<string>();
  return itemErrors<JsonObject>(mounts, field, (mount, at) => {
    const [name, path] = [textIn(mount, "name"), textIn(mount, "mountPath")];
    const errors = required(mount, "name", at);
    if (!volumes.has(name)) errors.push(fieldError.notFound(`${at}.name`, name));
    errors.push(...required(mount, "mountPath", at));
    if (paths.has(path)) errors.push(fieldError.invalid(`${at}.mountPath`, path, "must be unique"));
    paths.add(path);
    return errors;
  });
}

/** Resources of which a container cannot request less than its limit. */
export function isOvercommitable(name: string): boolean {
  return !name.startsWith("hugepages-") && (!name.includes("/") || name.includes("kubernetes.io/"));
}

export const standardResources: ReadonlySet<string> = new Set([
  "cpu",
  "memory",
  "ephemeral-storage",
]);

export function resourceNameErrors(name: string, at: string): FieldError[] {
  if (name.includes("/") || standardResources.has(name) || name.startsWith("hugepages-")) return [];
  return [fieldError.invalid(at, name, "must be a standard resource for containers")];
}

export function resourceErrors(resources: JsonObject, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const limits = objectIn(resources, "limits");
  for (const part of ["limits", "requests"])
    for (const [name, amount] of Object.entries(objectIn(resources, part))) {
      const at = `${field}.${part}[${name}]`;
      errors.push(
        ...resourceNameErrors(name, at),
        ...negativeQuantityErrors(amount as JsonValue, at),
      );
      if (name.includes("/") && !isIntegerQuantity(String(amount)))
        errors.push(fieldError.invalid(at, amount as JsonValue, "must be an integer"));
      const limit = limits[name];
      if (part === "requests" && limit !== undefined)
        errors.push(...overLimitErrors(name, String(amount), String(limit), `${field}.requests`));
    }
  return errors;
}

function overLimitErrors(name: string, amount: string, limit: string, at: string): FieldError[] {
  const [one, other] = [quantityNanos(amount)?.nanos, quantityNanos(limit)?.nanos];
  if (one === undefined || other === undefined || one === other) return [];
  if (!isOvercommitable(name))
    return [fieldError.invalid(at, amount, `must be equal to ${name} limit of ${limit}`)];
  return one > other
    ? [fieldError.invalid(at, amount, `must be less than or equal to ${name} limit of ${limit}`)]
    : [];
}

function securityErrors(context: JsonObject, at: string): FieldError[] {
  const errors = negativeErrors(context, ["runAsUser", "runAsGroup"], at);
  if (context["allowPrivilegeEscalation"] === false && context["privileged"] === true)
    errors.push(
      fieldError.invalid(
        at,
        context,
        "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
      ),
    );
  return errors;
}

function probeErrors(probe: JsonObject, at: string): FieldError[] {
  return [
    ...handlerErrors(probe, at),
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
}

function handlerErrors(holder: JsonObject, at: string): FieldError[] {
  const handlers = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"].filter(
    (member) => holder[member] !== undefined,
  );
  const [first, ...others] = handlers;
  if (first === undefined) return [fieldError.required(at, "must specify a handler type")];
  return [
    ...actionErrors(first, objectIn(holder, first), `${at}.${first}`),
    ...others.map((member) =>
      fieldError.forbidden(`${at}.${member}`, "may not specify more than 1 handler type"),
    ),
  ];
}

function actionErrors(kind: string, action: JsonObject, at: string): FieldError[] {
  switch (kind) {
    case "exec":
      return action["command"] === undefined ? [fieldError.required(`${at}.command`)] : [];
    case "httpGet":
      return [
        ...required(action, "path", at),
        ...portOrNameErrors(action["port"], `${at}.port`),
        ...oneOf(action, "scheme", ["HTTP", "HTTPS"], at),
      ];
    case "tcpSocket":
      return portOrNameErrors(action["port"], `${at}.port`);
    case "grpc":
      return portNumberErrors(action["port"] ?? 0, `${at}.port`);
    default:
      return [];
  }
}
