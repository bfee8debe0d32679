/** DeleteOptions, from the body or, without a body, from the query. */
import { isJsonObject, type JsonObject, type JsonValue, shallowCopy } from "@kcp-ts/machinery/json";
import { decodeShape, deleteOptions, ShapeError } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError, statusError } from "@kcp-ts/machinery/status";
import type { RequestBody } from "../content/index.ts";
import { type DeleteRequest, ignoreReadErrorOption } from "../registry/index.ts";
import { decodeSent, sentBody } from "./decode-object.ts";
import type { HandlerRequest } from "./handler-context.ts";
import { dryRunErrors, integer } from "./options.ts";

export interface DeleteOptions extends DeleteRequest {
  readonly isDryRun: boolean;
  /** Whether orphanDependents=false is explicit: the response is 202 then. */
  readonly isOrphaningRefused: boolean;
  /** The options as admission sees them. */
  readonly sent: JsonObject;
}

export async function readDeleteOptions(handled: HandlerRequest): Promise<DeleteOptions> {
  const { scope } = handled;
  const sent = sentBody(handled);
  const value = sent.bytes.length === 0 ? fromQuery(scope.query) : await fromBody(sent);
  const { propagationPolicy, orphanDependents, preconditions, gracePeriodSeconds } = value;
  const dryRun = Array.isArray(value["dryRun"])
    ? (value["dryRun"] as string[])
    : scope.query.getAll("dryRun");
  const ignoresReadError = value[ignoreReadErrorOption] === true;
  const errors = [
    ...validate(propagationPolicy, orphanDependents, dryRun),
    ...(ignoresReadError ? otherOptionErrors({ ...value, dryRun }) : []),
  ];
  if (errors.length > 0)
    throw statusError.invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", errors);
  const policy =
    propagationPolicy ??
    (orphanDependents === true ? "Orphan" : orphanDependents === false ? "Background" : undefined);
  const wanted = isJsonObject(preconditions) ? preconditions : {};
  const shown = shallowCopy(value);
  shown["kind"] = "DeleteOptions";
  shown["apiVersion"] = "meta.k8s.io/v1";
  return {
    sent: shown,
    isDryRun: dryRun.includes("All"),
    isOrphaningRefused: orphanDependents === false,
    ignoresReadError,
    propagationPolicy: policy as DeleteRequest["propagationPolicy"],
    gracePeriodSeconds: gracePeriodSeconds as number | undefined,
    uid: wanted["uid"] as string | undefined,
    resourceVersion: wanted["resourceVersion"] as string | undefined,
  };
}

async function fromBody(sent: RequestBody): Promise<JsonObject> {
  const expected = { kind: "DeleteOptions", apiVersion: "v1", shape: deleteOptions };
  const { value } = await decodeSent(sent, expected);
  const { kind = "" } = value;
  if (kind !== "" && kind !== "DeleteOptions") {
    throw statusError.badRequest(`decoded object cannot be converted to DeleteOptions`);
  }
  try {
    return decodeShape(deleteOptions, value).value;
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw statusError.badRequest(
      `DeleteOptions in version "v1" cannot be handled as a DeleteOptions: ${error.message}`,
    );
  }
}

function fromQuery(query: URLSearchParams): JsonObject {
  const policy = query.get("propagationPolicy");
  const orphan = query.get("orphanDependents");
  const grace = integer(query, "gracePeriodSeconds");
  const options: { [key: string]: JsonValue } = {};
  if (grace !== undefined) options["gracePeriodSeconds"] = grace;
  if (policy !== null) options["propagationPolicy"] = policy;
  if (orphan !== null) options["orphanDependents"] = orphan === "true" || orphan === "1";
  const ignores = query.get(ignoreReadErrorOption);
  if (ignores !== null) options[ignoreReadErrorOption] = ignores === "true" || ignores === "1";
  return options;
}

/** Options that need the object, which cannot be read. */
const objectOptions = [
  "dryRun",
  "propagationPolicy",
  "orphanDependents",
  "gracePeriodSeconds",
  "preconditions",
] as const;

function otherOptionErrors(value: JsonObject): FieldError[] {
  return objectOptions
    .filter((name) => (name === "dryRun" ? (value[name] as []).length > 0 : name in value))
    .map((name) =>
      fieldError.invalid(ignoreReadErrorOption, true, `cannot be set together with .${name}`),
    );
}

const policies = ["Foreground", "Background", "Orphan", "nil"];

function validate(policy: unknown, orphan: unknown, dryRun: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  if (policy !== undefined && orphan !== undefined) {
    errors.push(
      fieldError.invalid(
        "propagationPolicy",
        String(policy),
        "orphanDependents and deletionPropagation cannot be both set",
      ),
    );
  } else if (policy !== undefined && !policies.slice(0, 3).includes(String(policy))) {
    errors.push(fieldError.notSupported("propagationPolicy", String(policy), policies));
  }
  return [...errors, ...dryRunErrors(dryRun)];
}
