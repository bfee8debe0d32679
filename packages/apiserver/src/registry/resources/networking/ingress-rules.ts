/** The rules of Ingresses and IngressClasses, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { dnsLabelErrors, dnsSubdomainErrors, wildcardDomainErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { ipVersionOf } from "../address-rules.ts";
import { nameErrorsAt, oneOf, portNameErrors, portNumberErrors, required } from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";

const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"];
const badParts = ["//", "/./", "/../", "%2f", "%2F"];
const badEnds = ["/..", "/."];
export const classAnnotation = "kubernetes.io/ingress.class";
const controllerBytesMax = 250;

export function ingressErrors(object: JsonObject, old?: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const errors: FieldError[] = [];
  const detail = "either `defaultBackend` or `rules` must be specified";
  if (listIn(spec["rules"]).length === 0 && spec["defaultBackend"] === undefined)
    errors.push(fieldError.invalid("spec", spec["rules"] ?? null, detail));
  const { defaultBackend, ingressClassName } = spec;
  if (isJsonObject(defaultBackend))
    errors.push(...backendErrors(defaultBackend, "spec.defaultBackend"));
  errors.push(
    ...itemErrors(spec["rules"], "spec.rules", ruleErrors),
    ...itemErrors(spec["tls"], "spec.tls", certificateErrors),
  );
  if (ingressClassName !== undefined)
    errors.push(
      ...nameErrorsAt(String(ingressClassName), "spec.ingressClassName", dnsSubdomainErrors),
    );
  return old === undefined ? [...errors, ...classErrors(object, ingressClassName)] : errors;
}

function classErrors(object: JsonObject, name: JsonValue | undefined): FieldError[] {
  const annotation = objectIn(objectIn(object, "metadata"), "annotations")[classAnnotation];
  if (annotation === undefined || name === undefined || annotation === name) return [];
  const detail = "must match `ingressClassName` when both are specified";
  return [fieldError.invalid(`annotations.${classAnnotation}`, annotation, detail)];
}

function ruleErrors(rule: JsonObject, field: string): FieldError[] {
  const host = textIn(rule, "host");
  const errors: FieldError[] = [];
  if (ipVersionOf(host) !== undefined)
    errors.push(fieldError.invalid(`${field}.host`, host, "must be a DNS name, not an IP address"));
  if (host !== "") errors.push(...hostErrors(host, `${field}.host`));
  const { http } = rule;
  if (!isJsonObject(http)) return errors;
  const at = `${field}.http.paths`;
  if (listIn(http["paths"]).length === 0) errors.push(fieldError.required(at));
  return [...errors, ...itemErrors(http["paths"], at, pathErrors)];
}

function hostErrors(host: string, field: string): FieldError[] {
  return nameErrorsAt(host, field, host.includes("*") ? wildcardDomainErrors : dnsSubdomainErrors);
}

function certificateErrors(certificate: JsonObject, field: string): FieldError[] {
  const secret = textIn(certificate, "secretName");
  return [
    ...itemErrors<string>(certificate["hosts"], `${field}.hosts`, hostErrors),
    ...(secret === "" ? [] : nameErrorsAt(secret, `${field}.secretName`, dnsSubdomainErrors)),
  ];
}

function pathErrors(path: JsonObject, field: string): FieldError[] {
  const type = textIn(path, "pathType");
  if (type === "") return [fieldError.required(`${field}.pathType`, "pathType must be specified")];
  const text = textIn(path, "path");
  const at = `${field}.path`;
  const errors: FieldError[] = [];
  const isFree = type === "ImplementationSpecific";
  if (!pathTypes.includes(type))
    errors.push(fieldError.notSupported(`${field}.pathType`, type, pathTypes));
  else {
    if (!text.startsWith("/") && !(isFree && text === ""))
      errors.push(fieldError.invalid(at, text, "must be an absolute path"));
    if (!isFree)
      errors.push(
        ...badParts
          .filter((part) => text.includes(part))
          .map((part) => fieldError.invalid(at, text, `must not contain '${part}'`)),
        ...badEnds
          .filter((end) => text.endsWith(end))
          .map((end) => fieldError.invalid(at, text, `cannot end with '${end}'`)),
      );
  }
  return [...errors, ...backendErrors(objectIn(path, "backend"), `${field}.backend`)];
}

function backendErrors(backend: JsonObject, field: string): FieldError[] {
  const { resource, service } = backend;
  const invalid = (detail: string) => [fieldError.invalid(field, "", detail)];
  if (isJsonObject(resource))
    return isJsonObject(service)
      ? invalid("cannot set both resource and service backends")
      : [...referenceErrors(resource, `${field}.resource`)];
  if (!isJsonObject(service)) return invalid("resource or service backend is required");
  const name = textIn(service, "name");
  const at = `${field}.service`;
  return [
    ...(name === ""
      ? [fieldError.required(`${at}.name`)]
      : nameErrorsAt(name, `${at}.name`, dnsLabelErrors)),
    ...servicePortErrors(objectIn(service, "port"), field),
  ];
}

function servicePortErrors(port: JsonObject, field: string): FieldError[] {
  const [name, number] = [textIn(port, "name"), Number(port["number"] ?? 0)];
  const at = `${field}.service.port`;
  if (name !== "" && number !== 0)
    return [fieldError.invalid(field, "", "cannot set both port name & port number")];
  if (name !== "") return nameErrorsAt(name, `${at}.name`, portNameErrors);
  if (number !== 0) return portNumberErrors(number, `${at}.number`);
  return [fieldError.required(field, "port name or number is required")];
}

/** A reference to an object of a kind, in a group or in none. */
function referenceErrors(reference: JsonObject, field: string): FieldError[] {
  const { apiGroup } = reference;
  return [
    ...(apiGroup === undefined
      ? []
      : nameErrorsAt(String(apiGroup), `${field}.apiGroup`, dnsSubdomainErrors)),
    ...required(reference, "kind", field),
    ...required(reference, "name", field),
  ];
}

export function ingressClassErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const controller = textIn(spec, "controller");
  const at = "spec.controller";
  const [domain = "", ...path] = controller.split("/");
  const errors: FieldError[] = [];
  if (controller.length > controllerBytesMax)
    errors.push(fieldError.tooLong(at, controllerBytesMax));
  if (controller === "") errors.push(fieldError.required(at));
  else if (domain === "" || path.join("/") === "")
    errors.push(
      fieldError.invalid(at, controller, 'must be a domain-prefixed path (such as "acme.io/foo")'),
    );
  else errors.push(...nameErrorsAt(domain, at, dnsSubdomainErrors));
  const { parameters } = spec;
  return isJsonObject(parameters)
    ? [...errors, ...parameterErrors(parameters, "spec.parameters")]
    : errors;
}

function parameterErrors(parameters: JsonObject, field: string): FieldError[] {
  const scope = textIn(parameters, "scope");
  const { namespace } = parameters;
  const at = `${field}.namespace`;
  const errors = [
    ...referenceErrors(parameters, field),
    ...oneOf(parameters, "scope", ["Cluster", "Namespace"], field),
  ];
  if (scope === "Namespace" && namespace === undefined)
    errors.push(fieldError.required(at, "`parameters.scope` is set to 'Namespace'"));
  else if (scope === "Namespace")
    errors.push(...nameErrorsAt(String(namespace), at, dnsLabelErrors));
  if (scope === "Cluster" && namespace !== undefined)
    errors.push(fieldError.forbidden(at, "`parameters.scope` is set to 'Cluster'"));
  return errors;
}
