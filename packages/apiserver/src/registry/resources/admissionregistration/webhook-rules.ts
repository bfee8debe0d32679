/** Validates a webhook, validating or mutating. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { dns1035LabelErrors, dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import type { Draft } from "../../strategy.ts";
import { labelSelectorErrors } from "../label-selector-errors.ts";
import { duplicateErrors, itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { limitErrors } from "./admission-limits.ts";
import {
  choiceErrors,
  failurePolicies,
  matchConditionErrors,
  matchPolicies,
  reinvocationPolicies,
  ruleErrors,
} from "./rule-errors.ts";

const sideEffects = ["None", "NoneOnDryRun"];
const reviewVersions = ["v1", "v1beta1"];
/** Seconds. */
const timeoutMax = 30;

export function fillWebhooks(draft: Draft, defaults: JsonObject = {}): void {
  if (draft["webhooks"] === undefined) return;
  draft["webhooks"] = listIn(draft["webhooks"]).map((item): JsonValue => {
    const webhook = item as JsonObject;
    const { rules, clientConfig } = webhook;
    return {
      ...webhookDefaults,
      ...defaults,
      ...webhook,
      ...(rules === undefined ? {} : { rules: fillRules(rules) }),
      ...(isJsonObject(clientConfig) ? { clientConfig: fillPort(clientConfig) } : {}),
    };
  });
}

const webhookDefaults: JsonObject = {
  failurePolicy: "Fail",
  matchPolicy: "Equivalent",
  namespaceSelector: {},
  objectSelector: {},
  timeoutSeconds: 10,
};

/** Rules of webhooks and of policies apply to both scopes by default. */
export function fillRules(rules: JsonValue | undefined): JsonValue {
  return listIn(rules).map((rule) => ({ scope: "*", ...(rule as JsonObject) }));
}

function fillPort(clientConfig: JsonObject): JsonObject {
  const { service } = clientConfig;
  return isJsonObject(service)
    ? { ...clientConfig, service: { port: 443, ...service } }
    : clientConfig;
}

export function webhookErrors(object: JsonObject): FieldError[] {
  const tooMuch = limitErrors(object, "webhooks");
  if (tooMuch.length > 0) return tooMuch;
  const seen = new Set<string>();
  return itemErrors<JsonObject>(object["webhooks"], "webhooks", (webhook, field) => {
    const name = textIn(webhook, "name");
    const isRepeated = name !== "" && seen.has(name);
    seen.add(name);
    return [
      ...qualifiedErrors(name, `${field}.name`),
      ...itemErrors(webhook["rules"], `${field}.rules`, ruleErrors),
      ...optionErrors(webhook, field),
      ...labelSelectorErrors(webhook["namespaceSelector"], `${field}.namespaceSelector`),
      ...labelSelectorErrors(webhook["objectSelector"], `${field}.objectSelector`),
      ...clientErrors(objectIn(webhook, "clientConfig"), `${field}.clientConfig`),
      ...matchConditionErrors(webhook["matchConditions"], `${field}.matchConditions`, {
        hasParams: false,
      }),
      ...versionErrors(webhook["admissionReviewVersions"], `${field}.admissionReviewVersions`),
      ...(isRepeated ? [fieldError.duplicate(`${field}.name`, name)] : []),
    ];
  });
}

function qualifiedErrors(name: string, field: string): FieldError[] {
  if (name === "") return [fieldError.required(field)];
  const errors = dnsSubdomainErrors(name);
  if (errors.length > 0) return [fieldError.invalid(field, name, errors.join(","))];
  const why = "should be a domain with at least three segments separated by dots";
  return name.split(".").length < 3 ? [fieldError.invalid(field, name, why)] : [];
}

function optionErrors(webhook: JsonObject, field: string): FieldError[] {
  const { failurePolicy, matchPolicy, reinvocationPolicy, timeoutSeconds } = webhook;
  const effects = webhook["sideEffects"];
  const errors = [
    ...choiceErrors(failurePolicy, `${field}.failurePolicy`, failurePolicies),
    ...choiceErrors(matchPolicy, `${field}.matchPolicy`, matchPolicies),
    ...choiceErrors(reinvocationPolicy, `${field}.reinvocationPolicy`, reinvocationPolicies),
    ...(effects === undefined
      ? [
          fieldError.required(
            `${field}.sideEffects`,
            `must specify one of ${sideEffects.join(", ")}`,
          ),
        ]
      : choiceErrors(effects, `${field}.sideEffects`, sideEffects)),
  ];
  const seconds = Number(timeoutSeconds);
  if (timeoutSeconds !== undefined && (seconds < 1 || seconds > timeoutMax)) {
    const why = `the timeout value must be between 1 and ${timeoutMax} seconds`;
    errors.push(fieldError.invalid(`${field}.timeoutSeconds`, timeoutSeconds, why));
  }
  return errors;
}

function versionErrors(value: JsonValue | undefined, field: string): FieldError[] {
  const versions = listIn(value);
  const known = reviewVersions.join(", ");
  if (versions.length === 0) return [fieldError.required(field, `must specify one of ${known}`)];
  const errors = [
    ...duplicateErrors(value, field, (at, version) =>
      fieldError.invalid(at, version, "duplicate version"),
    ),
    ...itemErrors<string>(value, field, (version, at) =>
      dns1035LabelErrors(version).map((message) => fieldError.invalid(at, version, message)),
    ),
  ];
  if (!reviewVersions.some((version) => versions.includes(version)))
    errors.push(fieldError.invalid(field, versions, `must include at least one of ${known}`));
  return errors;
}

function clientErrors(config: JsonObject, field: string): FieldError[] {
  const { url, service } = config;
  if ((url === undefined) === (service === undefined))
    return [fieldError.required(field, "exactly one of url or service is required")];
  return isJsonObject(service)
    ? serviceErrors(service, `${field}.service`)
    : urlErrors(String(url), `${field}.url`);
}

function urlErrors(text: string, field: string): FieldError[] {
  const form = "; desired format: https://host[/path]";
  if (!URL.canParse(text)) {
    const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text)?.[1]?.toLowerCase() ?? "";
    return [
      ...(scheme === "https"
        ? []
        : [fieldError.invalid(field, scheme, `'https' is the only allowed URL scheme${form}`)]),
      fieldError.invalid(field, "", `host must be specified${form}`),
    ];
  }
  const { protocol, host, username, password, hash, search } = new URL(text);
  const errors: FieldError[] = [];
  if (protocol !== "https:") {
    const why = `'https' is the only allowed URL scheme${form}`;
    errors.push(fieldError.invalid(field, protocol.slice(0, -1), why));
  }
  if (host === "") errors.push(fieldError.invalid(field, "", `host must be specified${form}`));
  const user = password === "" ? username : `${username}:${password}`;
  for (const [part, what] of [
    // Errors are logged, where passwords must not appear.
    [user.replace(/:.*$/s, ":xxxxx"), "user information is"],
    [hash.slice(1), "fragments are"],
    [search.slice(1), "query parameters are"],
  ] as const) {
    if (part !== "")
      errors.push(fieldError.invalid(field, part, `${what} not permitted in the URL`));
  }
  return errors;
}

function serviceErrors(service: JsonObject, field: string): FieldError[] {
  const errors = ["name", "namespace"]
    .filter((member) => textIn(service, member) === "")
    .map((member) => fieldError.required(`${field}.${member}`));
  const port = Number(service["port"] ?? 0);
  if (port < 1 || port > 65535) {
    const why = "port is not valid: must be between 1 and 65535, inclusive";
    errors.push(fieldError.invalid(`${field}.port`, port, why));
  }
  return [...errors, ...pathErrors(textIn(service, "path"), `${field}.path`)];
}

function pathErrors(path: string, field: string): FieldError[] {
  if (path === "" || path === "/") return [];
  if (path === "//") return [fieldError.invalid(field, path, "segment[0] may not be empty")];
  const errors = path.startsWith("/")
    ? []
    : [fieldError.invalid(field, path, "must start with a '/'")];
  const segments = path.slice(1).replace(/\/$/, "").split("/");
  return [
    ...errors,
    ...itemErrors<string>(segments, "", (segment, _, index) =>
      segment === ""
        ? [fieldError.invalid(field, path, `segment[${index}] may not be empty`)]
        : dnsSubdomainErrors(segment).map((message) =>
            fieldError.invalid(field, path, `segment[${index}]: ${message}`),
          ),
    ),
  ];
}
