import { resetFieldsOf } from "@kcp-ts/machinery/apply";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { certificateSigningRequest } from "@kcp-ts/machinery/shape";
import { humanDuration } from "@kcp-ts/machinery/table";
import { timestamp } from "../../prepare.ts";
import type { Draft, SubresourceStrategy, WriteContext } from "../../strategy.ts";
import {
  ageCell,
  ageColumn,
  baseStrategy,
  builtIn,
  column,
  listIn,
  nameCell,
  nameColumn,
  objectIn,
  restoreMembers,
  textIn,
  unrestrictedNames,
} from "../standard.ts";
import { conditionsOf, requestErrors, statusErrors } from "./request-rules.ts";

/** The endpoint where a signer writes the certificate. */
const statusEndpoint: SubresourceStrategy = {
  verbs: ["get", "patch", "update"],
  resetFields: resetFieldsOf(["spec"], ["status", "conditions"]),
  prepareForUpdate(draft, old, { nowMs }) {
    restoreMembers(draft, old, "spec");
    keepDecision(draft, old);
    stampConditions(draft, old, nowMs);
  },
  validateUpdate: (updated, old) => statusErrors(updated, old, "certificate"),
};

/** The endpoint where an approver decides; only the conditions change. */
const approvalEndpoint: SubresourceStrategy = {
  verbs: ["get", "patch", "update"],
  resetFields: resetFieldsOf(["spec"], ["status", "certificate"]),
  prepareForUpdate(draft, old, { nowMs }) {
    stampConditions(draft, old, nowMs);
    const { conditions } = objectIn(draft, "status");
    restoreMembers(draft, old, "spec");
    const { conditions: _, ...status } = objectIn(old, "status");
    draft["status"] = conditions === undefined ? status : { ...status, conditions };
  },
  validateUpdate: (updated, old) => statusErrors(updated, old, "decision"),
};

export const certificateSigningRequests = builtIn({
  group: "certificates.k8s.io",
  resource: "certificatesigningrequests",
  singular: "certificatesigningrequest",
  kind: "CertificateSigningRequest",
  isNamespaced: false,
  shortNames: ["csr"],
  subresources: new Map([
    ["approval", approvalEndpoint],
    ["status", statusEndpoint],
  ]),
  strategy: {
    ...baseStrategy,
    ...unrestrictedNames,
    shape: certificateSigningRequest,
    resetFields: resetFieldsOf(["spec"], ["status"]),
    allowsUnconditionalUpdate: true,
    prepareForCreate(draft, context) {
      draft["spec"] = { ...ownPart(objectIn(draft, "spec")), ...requester(context) };
      draft["status"] = {};
    },
    prepareForUpdate(draft, old) {
      restoreMembers(draft, old, "spec");
      restoreMembers(draft, old, "status");
    },
    validate: requestErrors,
    selectableFields: new Map([
      ["spec.signerName", (object: JsonObject) => textIn(objectIn(object, "spec"), "signerName")],
    ]),
    columns: [
      nameColumn,
      ageColumn,
      column("SignerName", "string", "Who is asked to sign."),
      column("Requestor", "string", "Who asks."),
      column("RequestedDuration", "string", "How long the certificate should be valid."),
      column("Condition", "string", "What became of the request."),
    ],
    cells: requestCells,
  },
});

function ownPart(spec: JsonObject): Draft {
  const { username: _u, uid: _i, groups: _g, extra: _e, ...rest } = spec;
  return rest as Draft;
}

/** The requester is the authenticated user, never a value of the request. */
function requester({ user }: WriteContext): Draft {
  if (user === undefined) return {};
  const extra = Object.entries(user.extra ?? {});
  return {
    username: user.username,
    ...(user.uid === undefined || user.uid === "" ? {} : { uid: user.uid }),
    ...(user.groups.length === 0 ? {} : { groups: [...user.groups] }),
    ...(extra.length === 0
      ? {}
      : { extra: Object.fromEntries(extra.map(([key, values]) => [key, [...values]])) }),
  };
}

/**
 * Restores the decision's conditions, unless some are added or removed: validation rejects that.
 */
function keepDecision(draft: Draft, old: JsonObject): void {
  const status = objectIn(draft, "status");
  if (status["conditions"] === undefined) return;
  let conditions = [...listIn(status["conditions"])];
  for (const type of ["Approved", "Denied"]) {
    const before = [...conditionsOf(old, type)];
    if (before.length !== conditionsOf(draft, type).length) continue;
    conditions = conditions.map((condition) =>
      textIn(condition as JsonObject, "type") === type ? (before.shift() as JsonValue) : condition,
    );
  }
  draft["status"] = { ...status, conditions };
}

function stampConditions(draft: Draft, old: JsonObject, nowMs: number): void {
  const status = objectIn(draft, "status");
  if (status["conditions"] === undefined) return;
  const now = timestamp(nowMs);
  const conditions = (listIn(status["conditions"]) as readonly JsonObject[]).map((condition) => {
    const same = (conditionsOf(old, textIn(condition, "type")) as readonly JsonObject[]).find(
      (before) => before["status"] === condition["status"],
    );
    return {
      ...condition,
      lastUpdateTime: condition["lastUpdateTime"] ?? now,
      lastTransitionTime: condition["lastTransitionTime"] ?? same?.["lastTransitionTime"] ?? now,
    };
  });
  draft["status"] = { ...status, conditions };
}

function requestCells(object: JsonObject, nowMs: number): JsonValue[] {
  const spec = objectIn(object, "spec");
  const seconds = spec["expirationSeconds"];
  return [
    nameCell(object),
    ageCell(object, nowMs),
    textIn(spec, "signerName") || "<none>",
    textIn(spec, "username"),
    seconds === undefined ? "<none>" : humanDuration(Number(seconds) * 1000),
    stateOf(object),
  ];
}

function stateOf(object: JsonObject): string {
  const has = (type: string) => conditionsOf(object, type).length > 0;
  const decision = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  const isIssued = textIn(objectIn(object, "status"), "certificate") !== "";
  return `${decision}${has("Failed") ? ",Failed" : ""}${isIssued ? ",Issued" : ""}`;
}
