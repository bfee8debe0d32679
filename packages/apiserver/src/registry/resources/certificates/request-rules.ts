/** Validates certificate signing requests, and changes of their status. */
import { type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { dnsLabelErrors, dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError, quote } from "@kcp-ts/machinery/status";
import { duplicateErrors, itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { certificatesError } from "./certificate-errors.ts";
import { signingRequestError } from "./signing-request.ts";

/** In alphabetical order, as errors list them. */
const usages: readonly string[] = [
  "any",
  "cert sign",
  "client auth",
  "code signing",
  "content commitment",
  "crl sign",
  "data encipherment",
  "decipher only",
  "digital signature",
  "email protection",
  "encipher only",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "key agreement",
  "key encipherment",
  "microsoft sgc",
  "netscape sgc",
  "ocsp signing",
  "s/mime",
  "server auth",
  "signing",
  "timestamping",
];

/** In base64. An error repeats the sent value; real requests have a few thousand characters. */
export const requestLengthMax = 64 * 1024;
const expirationSecondsMin = 600;
const legacySigner = "kubernetes.io/legacy-unknown";

export function requestErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const errors: FieldError[] = [];
  const request = textIn(spec, "request");
  if (request.length > requestLengthMax)
    return [fieldError.tooLong("spec.request", requestLengthMax)];
  const wrong = signingRequestError(Buffer.from(request, "base64").toString("latin1"));
  if (wrong !== undefined) errors.push(fieldError.invalid("spec.request", request, wrong));
  // A longer list has an invalid or repeated usage: checking one more than there are suffices.
  const asked = listIn(spec["usages"]).slice(0, usages.length + 1);
  if (asked.length === 0) errors.push(fieldError.required("spec.usages"));
  errors.push(
    ...itemErrors<string>(asked, "spec.usages", (usage, field) =>
      usages.includes(usage) ? [] : [fieldError.notSupported(field, usage, usages)],
    ),
    ...duplicateErrors(asked, "spec.usages"),
    ...signerErrors(textIn(spec, "signerName"), "spec.signerName"),
  );
  const { expirationSeconds } = spec;
  if (expirationSeconds !== undefined && Number(expirationSeconds) < expirationSecondsMin) {
    errors.push(
      fieldError.invalid(
        "spec.expirationSeconds",
        expirationSeconds,
        "may not specify a duration less than 600 seconds (10 minutes)",
      ),
    );
  }
  return errors;
}

function signerErrors(signer: string, field: string): FieldError[] {
  if (signer === legacySigner) {
    const why = "the legacy signerName is not allowed via this API version";
    return [fieldError.invalid(field, signer, why)];
  }
  if (signer === "") return [fieldError.required(field)];
  const [domain, path, ...rest] = signer.split("/");
  if (domain === undefined || path === undefined || rest.length > 0) {
    const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [fieldError.invalid(field, signer, why)];
  }
  const labels = domain.split(".");
  const errors = domain.length > 253 ? [fieldError.tooLong(field, 253)] : [];
  errors.push(...firstLabelErrors(labels, dnsLabelErrors, field, domain));
  if (labels.length < 2) {
    const why = "should be a domain with at least two segments separated by dots";
    errors.push(fieldError.invalid(field, domain, why));
  }
  errors.push(...firstLabelErrors(path.split("."), dnsSubdomainErrors, field, path));
  const pathLengthMax = 253 + 63 + 1;
  if (path.length > pathLengthMax) errors.push(fieldError.tooLong(field, pathLengthMax));
  return errors;
}

/** Only the first invalid label is reported: the others would repeat the message. */
function firstLabelErrors(
  labels: readonly string[],
  check: (label: string) => string[],
  field: string,
  value: string,
): FieldError[] {
  for (const label of labels) {
    const errors = check(label);
    if (errors.length === 0) continue;
    return errors.map((message) =>
      fieldError.invalid(field, value, `validating label ${quote(label)}: ${message}`),
    );
  }
  return [];
}

const field = "status.conditions";
const decisions = ["Approved", "Denied"] as const;
const alwaysTrue: ReadonlySet<string> = new Set([...decisions, "Failed"]);

/** The part of the status that an endpoint may write. */
export type StatusPart = "decision" | "certificate";

export function statusErrors(updated: JsonObject, old: JsonObject, part: StatusPart): FieldError[] {
  const errors = [...conditionErrors(updated), ...conditionChanges(updated, old, part)];
  const [before, after] = [old, updated].map((object) =>
    textIn(objectIn(object, "status"), "certificate"),
  ) as [string, string];
  if (before === after) return errors;
  const certificate = "status.certificate";
  if (part === "decision")
    errors.push(fieldError.forbidden(certificate, "updates may not set certificate content"));
  else if (before !== "") {
    const why = "updates may not modify existing certificate content";
    errors.push(fieldError.forbidden(certificate, why));
  }
  const wrong = certificatesError(Buffer.from(after, "base64").toString("latin1"));
  if (wrong !== undefined && after !== "")
    errors.push(fieldError.invalid(certificate, "<certificate data>", wrong));
  return errors;
}

function conditionErrors(object: JsonObject): FieldError[] {
  const conditions = objectIn(object, "status")["conditions"];
  const seen = new Set<string>();
  return itemErrors<JsonObject>(conditions, field, (condition, path) => {
    const [type, status] = [textIn(condition, "type"), textIn(condition, "status")];
    const errors: FieldError[] = type === "" ? [fieldError.required(`${path}.type`)] : [];
    const allowed = alwaysTrue.has(type) ? ["True"] : ["False", "True", "Unknown"];
    if (status === "") errors.push(fieldError.required(`${path}.status`));
    else if (!allowed.includes(status))
      errors.push(fieldError.notSupported(`${path}.status`, status, allowed));
    const other = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined;
    if (other !== undefined && seen.has(other)) {
      const why = "Approved and Denied conditions are mutually exclusive";
      errors.push(fieldError.invalid(field, type, why));
    }
    if (seen.has(type)) errors.push(fieldError.duplicate(`${path}.type`, type));
    seen.add(type);
    return errors;
  });
}

/** A decision is final, and only the approval endpoint writes it. */
function conditionChanges(updated: JsonObject, old: JsonObject, part: StatusPart): FieldError[] {
  const errors: FieldError[] = [];
  for (const type of alwaysTrue) {
    const [before, after] = [conditionsOf(old, type), conditionsOf(updated, type)];
    const forbid = (change: string) =>
      errors.push(
        fieldError.forbidden(field, `updates may not ${change} a condition of type ${quote(type)}`),
      );
    if (after.length < before.length) forbid("remove");
    if (part === "decision" || type === "Failed") continue;
    if (after.length > before.length) forbid("add");
    else if (after.length === before.length && !jsonEqual(before as JsonValue, after as JsonValue))
      forbid("modify");
  }
  return errors;
}

export function conditionsOf(object: JsonObject, type: string): readonly JsonValue[] {
  return listIn(objectIn(object, "status")["conditions"]).filter(
    (condition) => textIn(condition as JsonObject, "type") === type,
  );
}
