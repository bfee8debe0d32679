/**
 * Validation of Pods and Pod templates, in the words of Kubernetes. It contains the rules that
 * users encounter, not all of them.
 */
import { itemErrors, listIn, objectIn, textIn } from "@kcp-ts/apiserver/kinds";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { dnsLabelErrors, dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";

const restartPolicies = ["Always", "Never", "OnFailure"];
const dnsPolicies = ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"];
const pullPolicies = ["Always", "IfNotPresent", "Never"];
const protocols = ["SCTP", "TCP", "UDP"];
const portMax = 65535;
const portNameMax = 15;
export const negative = "must be greater than or equal to 0";
const portRange = "must be between 1 and 65535, inclusive";

/** `claimed` are volumes from elsewhere: the claims of a StatefulSet. */
export function podSpecErrors(
  spec: JsonObject,
  field: string,
  claimed: readonly string[] = [],
): FieldError[] {
  const errors: FieldError[] = [];
  const volumes = new Set([...volumeErrors(spec, field, errors), ...claimed]);
  const names = new Set<string>();
  if (listIn(spec["containers"]).length === 0)
    errors.push(fieldError.required(`${field}.containers`));
  for (const member of ["containers", "initContainers"])
    errors.push(
      ...itemErrors<JsonObject>(spec[member], `${field}.${member}`, (container, at) =>
        containerErrors(container, at, names, volumes),
      ),
    );
  errors.push(
    ...oneOf(spec, "restartPolicy", restartPolicies, field),
    ...oneOf(spec, "dnsPolicy", dnsPolicies, field),
  );
  const grace = Number(spec["terminationGracePeriodSeconds"] ?? 0);
  if (grace < 0)
    errors.push(fieldError.invalid(`${field}.terminationGracePeriodSeconds`, grace, negative));
  const deadline = spec["activeDeadlineSeconds"];
  if (deadline !== undefined && (Number(deadline) < 1 || Number(deadline) > 2 ** 31 - 1))
    errors.push(
      fieldError.invalid(
        `${field}.activeDeadlineSeconds`,
        deadline,
        "must be between 1 and 2147483647, inclusive",
      ),
    );
  for (const [member, check] of [
    ["nodeName", dnsSubdomainErrors],
    ["serviceAccountName", dnsSubdomainErrors],
    ["hostname", dnsLabelErrors],
    ["subdomain", dnsLabelErrors],
  ] as const) {
    const name = textIn(spec, member);
    if (name !== "")
      errors.push(
        ...check(name).map((text) => fieldError.invalid(`${field}.${member}`, name, text)),
      );
  }
  return errors;
}

function volumeErrors(spec: JsonObject, field: string, errors: FieldError[]): Set<string> {
  const names = new Set<string>();
  errors.push(
    ...itemErrors<JsonObject>(spec["volumes"], `${field}.volumes`, (volume, at) => {
      const name = textIn(volume, "name");
      const sources = Object.keys(volume).filter((member) => member !== "name");
      const found = nameErrors(name, `${at}.name`, names);
      if (sources.length > 1)
        found.push(
          fieldError.forbidden(
            `${at}.${sources[1] as string}`,
            "may not specify more than 1 volume type",
          ),
        );
      return found;
    }),
  );
  return names;
}

function nameErrors(name: string, at: string, names: Set<string>): FieldError[] {
  if (name === "") return [fieldError.required(at)];
  const errors = dnsLabelErrors(name).map((text) => fieldError.invalid(at, name, text));
  if (names.has(name)) errors.push(fieldError.duplicate(at, name));
  names.add(name);
  return errors;
}

function containerErrors(
  container: JsonObject,
  at: string,
  names: Set<string>,
  volumes: ReadonlySet<string>,
): FieldError[] {
  const errors = nameErrors(textIn(container, "name"), `${at}.name`, names);
  const image = textIn(container, "image");
  if (image === "") errors.push(fieldError.required(`${at}.image`));
  else if (image.trim() !== image)
    errors.push(
      fieldError.invalid(`${at}.image`, image, "must not have leading or trailing whitespace"),
    );
  errors.push(
    ...oneOf(container, "imagePullPolicy", pullPolicies, at),
    ...portErrors(container["ports"], `${at}.ports`),
    ...envErrors(container["env"], `${at}.env`),
    ...mountErrors(container["volumeMounts"], `${at}.volumeMounts`, volumes),
    ...resourceErrors(objectIn(container, "resources"), `${at}.resources`),
  );
  for (const member of ["livenessProbe", "readinessProbe", "startupProbe"])
    if (container[member] !== undefined)
      errors.push(...probeErrors(objectIn(container, member), `${at}.${member}`));
  return errors;
}

function portErrors(ports: JsonValue | undefined, field: string): FieldError[] {
  const names = new Set<string>();
  return itemErrors<JsonObject>(ports, field, (port, at) => {
    const errors: FieldError[] = [];
    const name = textIn(port, "name");
    if (name !== "") {
      if (name.length > portNameMax)
        errors.push(
          fieldError.invalid(`${at}.name`, name, `must be no more than ${portNameMax} characters`),
        );
      if (names.has(name)) errors.push(fieldError.duplicate(`${at}.name`, name));
      names.add(name);
    }
    const number = Number(port["containerPort"] ?? 0);
    if (number === 0) errors.push(fieldError.required(`${at}.containerPort`));
    else if (number < 1 || number > portMax)
      errors.push(fieldError.invalid(`${at}.containerPort`, number, portRange));
    const hostPort = Number(port["hostPort"] ?? 0);
    if (hostPort < 0 || hostPort > portMax)
      errors.push(fieldError.invalid(`${at}.hostPort`, hostPort, portRange));
    return [...errors, ...oneOf(port, "protocol", protocols, at)];
  });
}

function envErrors(env: JsonValue | undefined, field: string): FieldError[] {
  return itemErrors<JsonObject>(env, field, (variable, at) => {
    const errors: FieldError[] = [];
    if (textIn(variable, "name") === "") errors.push(fieldError.required(`${at}.name`));
    if (variable["valueFrom"] !== undefined && textIn(variable, "value") !== "")
      errors.push(
        fieldError.invalid(`${at}.valueFrom`, "", "may not be specified when `value` is not empty"),
      );
    return errors;
  });
}

function mountErrors(
  mounts: JsonValue | undefined,
  field: string,
  volumes: ReadonlySet<string>,
): FieldError[] {
  const paths = new Set<string>();
  return itemErrors<JsonObject>(mounts, field, (mount, at) => {
    const errors: FieldError[] = [];
    const [name, path] = [textIn(mount, "name"), textIn(mount, "mountPath")];
    if (name === "") errors.push(fieldError.required(`${at}.name`));
    else if (!volumes.has(name)) errors.push(fieldError.notFound(`${at}.name`, name));
    if (path === "") errors.push(fieldError.required(`${at}.mountPath`));
    if (paths.has(path)) errors.push(fieldError.invalid(`${at}.mountPath`, path, "must be unique"));
    paths.add(path);
    return errors;
  });
}

function resourceErrors(resources: JsonObject, field: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const part of ["limits", "requests"])
    for (const [name, amount] of Object.entries(objectIn(resources, part)))
      if (String(amount).startsWith("-"))
        errors.push(fieldError.invalid(`${field}.${part}[${name}]`, amount, negative));
  return errors;
}

function probeErrors(probe: JsonObject, field: string): FieldError[] {
  const handlers = ["exec", "httpGet", "tcpSocket", "grpc"].filter(
    (member) => probe[member] !== undefined,
  );
  if (handlers.length === 0) return [fieldError.required(field, "must specify a handler type")];
  const errors: FieldError[] = handlers
    .slice(1)
    .map((member) =>
      fieldError.forbidden(`${field}.${member}`, "may not specify more than 1 handler type"),
    );
  for (const member of ["initialDelaySeconds", "timeoutSeconds", "periodSeconds"]) {
    const seconds = Number(probe[member] ?? 0);
    if (seconds < 0) errors.push(fieldError.invalid(`${field}.${member}`, seconds, negative));
  }
  return errors;
}

export function oneOf(
  object: JsonObject,
  member: string,
  values: readonly string[],
  field: string,
): FieldError[] {
  const value = textIn(object, member);
  if (value === "") return [fieldError.required(`${field}.${member}`)];
  return values.includes(value)
    ? []
    : [fieldError.notSupported(`${field}.${member}`, value, values)];
}
