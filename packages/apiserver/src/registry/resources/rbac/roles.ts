/** Roles and ClusterRoles: sets of permissions. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { clusterRole, role } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import type { Draft } from "../../strategy.ts";
import { labelSelectorErrors } from "../label-selector-errors.ts";
import {
  baseStrategy,
  builtIn,
  createdAtCell,
  createdAtColumn,
  itemErrors,
  listIn,
  nameCell,
  nameColumn,
  unrestrictedNames,
} from "../standard.ts";

const shared = {
  ...baseStrategy,
  ...unrestrictedNames,
  allowsUnconditionalUpdate: true,
  allowsCreateOnUpdate: true,
  ownsOnlySentFields: true,
  canonicalize: nullEmptyRules,
  columns: [nameColumn, createdAtColumn],
  cells: (object: JsonObject) => [nameCell(object), createdAtCell(object)],
} as const;

export const roles = builtIn({
  group: "rbac.authorization.k8s.io",
  resource: "roles",
  singular: "role",
  kind: "Role",
  isNamespaced: true,
  waitsForOwnWrite: true,
  strategy: { ...shared, shape: role, validate: roleErrors, validateUpdate: roleErrors },
});

export const clusterRoles = builtIn({
  group: "rbac.authorization.k8s.io",
  resource: "clusterroles",
  singular: "clusterrole",
  kind: "ClusterRole",
  isNamespaced: false,
  waitsForOwnWrite: true,
  strategy: {
    ...shared,
    shape: clusterRole,
    validate: clusterRoleErrors,
    validateUpdate: clusterRoleErrors,
  },
});

/** Served roles always have rules, also without any; such empty rules have no manager. */
function nullEmptyRules(draft: Draft): void {
  if (listIn(draft["rules"]).length === 0) draft["rules"] = null;
}

function roleErrors(object: JsonObject): FieldError[] {
  return itemErrors<JsonObject>(object["rules"], "rules", (rule, field) => {
    const urls = listIn(rule["nonResourceURLs"]);
    const outside =
      urls.length === 0
        ? []
        : [
            fieldError.invalid(
              `${field}.nonResourceURLs`,
              urls,
              "namespaced rules cannot apply to non-resource URLs",
            ),
          ];
    return [...verbErrors(rule, field), ...outside, ...targetErrors(rule, field)];
  });
}

function clusterRoleErrors(object: JsonObject): FieldError[] {
  const errors = itemErrors<JsonObject>(object["rules"], "rules", (rule, field) => [
    ...verbErrors(rule, field),
    ...targetErrors(rule, field),
  ]);
  const { aggregationRule } = object;
  if (!isJsonObject(aggregationRule)) return errors;
  const selectors = aggregationRule["clusterRoleSelectors"];
  const field = "aggregationRule.clusterRoleSelectors";
  if (listIn(selectors).length === 0) {
    errors.push(
      fieldError.required(
        field,
        "at least one clusterRoleSelector required if aggregationRule is non-nil",
      ),
    );
  }
  return [...errors, ...itemErrors(selectors, field, labelSelectorErrors)];
}

function verbErrors(rule: JsonObject, field: string): FieldError[] {
  return listIn(rule["verbs"]).length > 0
    ? []
    : [fieldError.required(`${field}.verbs`, "verbs must contain at least one value")];
}

/** A rule applies to resources or to non-resource URLs. */
function targetErrors(rule: JsonObject, field: string): FieldError[] {
  const has = (member: string) => listIn(rule[member]).length > 0;
  if (has("nonResourceURLs")) {
    return has("apiGroups") || has("resources") || has("resourceNames")
      ? [
          fieldError.invalid(
            `${field}.nonResourceURLs`,
            listIn(rule["nonResourceURLs"]),
            "rules cannot apply to both regular resources and non-resource URLs",
          ),
        ]
      : [];
  }
  const errors: FieldError[] = [];
  if (!has("apiGroups")) {
    errors.push(
      fieldError.required(
        `${field}.apiGroups`,
        "resource rules must supply at least one api group",
      ),
    );
  }
  if (!has("resources")) {
    errors.push(
      fieldError.required(`${field}.resources`, "resource rules must supply at least one resource"),
    );
  }
  return errors;
}
