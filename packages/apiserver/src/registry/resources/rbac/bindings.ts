/** RoleBindings and ClusterRoleBindings: the subjects of a role. */
import { type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { dnsSubdomainErrors, pathSegmentErrors } from "@kcp-ts/machinery/names";
import { clusterRoleBinding, roleBinding } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import type { Draft } from "../../strategy.ts";
import {
  ageCell,
  ageColumn,
  baseStrategy,
  builtIn,
  column,
  itemErrors,
  listIn,
  nameCell,
  nameColumn,
  objectIn,
  textIn,
  unrestrictedNames,
  wideColumn,
} from "../standard.ts";

const group = "rbac.authorization.k8s.io";

const shared = {
  ...baseStrategy,
  ...unrestrictedNames,
  allowsUnconditionalUpdate: true,
  allowsCreateOnUpdate: true,
  prepareForCreate: fillGroups,
  prepareForUpdate: fillGroups,
  columns: [
    nameColumn,
    column("Role", "string", "The role that is given."),
    ageColumn,
    wideColumn("Users", "string", "Users who get the role."),
    wideColumn("Groups", "string", "Groups who get the role."),
    wideColumn("ServiceAccounts", "string", "Service accounts who get the role."),
  ],
  cells: bindingCells,
} as const;

export const roleBindings = builtIn({
  group,
  resource: "rolebindings",
  singular: "rolebinding",
  kind: "RoleBinding",
  isNamespaced: true,
  waitsForOwnWrite: true,
  strategy: { ...shared, shape: roleBinding, ...rulesOf("namespace", ["Role", "ClusterRole"]) },
});

export const clusterRoleBindings = builtIn({
  group,
  resource: "clusterrolebindings",
  singular: "clusterrolebinding",
  kind: "ClusterRoleBinding",
  isNamespaced: false,
  waitsForOwnWrite: true,
  strategy: { ...shared, shape: clusterRoleBinding, ...rulesOf("cluster", ["ClusterRole"]) },
});

function rulesOf(scope: "namespace" | "cluster", roleKinds: readonly string[]) {
  const validate = (object: JsonObject): FieldError[] => [
    ...roleRefErrors(objectIn(object, "roleRef"), roleKinds),
    ...itemErrors<JsonObject>(object["subjects"], "subjects", (subject, field) =>
      subjectErrors(subject, field, scope),
    ),
  ];
  const validateUpdate = (updated: JsonObject, old: JsonObject): FieldError[] => {
    const errors = validate(updated);
    const roleRef = objectIn(updated, "roleRef");
    if (!jsonEqual(roleRef, objectIn(old, "roleRef")))
      errors.push(fieldError.invalid("roleRef", roleRef, "cannot change roleRef"));
    return errors;
  };
  return { validate, validateUpdate };
}

/** Users and groups, and the role itself, default to the RBAC API group. */
function fillGroups(draft: Draft): void {
  const roleRef = objectIn(draft, "roleRef");
  draft["roleRef"] = { ...roleRef, apiGroup: textIn(roleRef, "apiGroup") || group };
  if (draft["subjects"] === undefined) return;
  draft["subjects"] = listIn(draft["subjects"]).map((item): JsonValue => {
    const subject = item as JsonObject;
    const isOurs = subject["kind"] === "User" || subject["kind"] === "Group";
    return isOurs && textIn(subject, "apiGroup") === "" ? { ...subject, apiGroup: group } : subject;
  });
}

function roleRefErrors(roleRef: JsonObject, kinds: readonly string[]): FieldError[] {
  const [apiGroup, kind, name] = ["apiGroup", "kind", "name"].map((field) =>
    textIn(roleRef, field),
  ) as [string, string, string];
  const errors: FieldError[] = [];
  if (apiGroup !== group)
    errors.push(fieldError.notSupported("roleRef.apiGroup", apiGroup, [group]));
  if (!kinds.includes(kind)) errors.push(fieldError.notSupported("roleRef.kind", kind, kinds));
  if (name === "") errors.push(fieldError.required("roleRef.name"));
  for (const message of pathSegmentErrors(name))
    errors.push(fieldError.invalid("roleRef.name", name, message));
  return errors;
}

function subjectErrors(
  subject: JsonObject,
  field: string,
  scope: "namespace" | "cluster",
): FieldError[] {
  const [kind, apiGroup, name] = ["kind", "apiGroup", "name"].map((member) =>
    textIn(subject, member),
  ) as [string, string, string];
  const errors: FieldError[] = name === "" ? [fieldError.required(`${field}.name`)] : [];
  switch (kind) {
    case "ServiceAccount":
      if (name !== "") {
        for (const message of dnsSubdomainErrors(name))
          errors.push(fieldError.invalid(`${field}.name`, name, message));
      }
      if (apiGroup !== "")
        errors.push(fieldError.notSupported(`${field}.apiGroup`, apiGroup, [""]));
      if (scope === "cluster" && textIn(subject, "namespace") === "")
        errors.push(fieldError.required(`${field}.namespace`));
      break;
    case "User":
    case "Group":
      if (apiGroup !== group)
        errors.push(fieldError.notSupported(`${field}.apiGroup`, apiGroup, [group]));
      break;
    default:
      errors.push(
        fieldError.notSupported(`${field}.kind`, kind, ["ServiceAccount", "User", "Group"]),
      );
  }
  return errors;
}

function bindingCells(object: JsonObject, nowMs: number): JsonValue[] {
  const roleRef = objectIn(object, "roleRef");
  const subjects = listIn(object["subjects"]) as readonly JsonObject[];
  const named = (kind: string) =>
    subjects
      .filter((subject) => subject["kind"] === kind)
      .map((subject) =>
        kind === "ServiceAccount" && textIn(subject, "namespace") !== ""
          ? `${textIn(subject, "namespace")}/${textIn(subject, "name")}`
          : textIn(subject, "name"),
      )
      .join(", ");
  return [
    nameCell(object),
    `${textIn(roleRef, "kind")}/${textIn(roleRef, "name")}`,
    ageCell(object, nowMs),
    named("User"),
    named("Group"),
    named("ServiceAccount"),
  ];
}
