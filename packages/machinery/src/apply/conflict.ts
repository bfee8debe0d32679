/** The error that tells an applier which fields others own. Its texts are shown by kubectl and read by controllers. */
import { quote, type StatusCause, StatusError } from "../status/index.ts";
import { compareText } from "./compare-text.ts";
import type { FieldSet } from "./field-set.ts";
import { pathsOf } from "./field-set.ts";
import { sortFieldSet } from "./fields-v1.ts";
import type { Manager, Managers } from "./managed-fields.ts";
import type { Conflicts } from "./ownership.ts";
import { formatPath, type PathElement } from "./path-element.ts";

export function conflictError(conflicts: Conflicts, managers: Managers): StatusError {
  const groups = [...conflicts]
    .sort(([a], [b]) => compareText(a, b))
    .map(([identity, fields]) => ({
      manager: formatManager(managers.get(identity) as Manager),
      paths: formatPaths(fields),
    }));
  const causes: StatusCause[] = groups.flatMap(({ manager, paths }) =>
    paths.map((field) => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${manager}`,
      field,
    })),
  );
  const [first] = groups;
  const message =
    causes.length === 1 && first !== undefined
      ? `Apply failed with 1 conflict: conflict with ${first.manager}: ${first.paths[0]}`
      : `Apply failed with ${causes.length} conflicts: ${groups
          .map(({ manager, paths }) =>
            [`conflicts with ${manager}:`, ...paths.map((path) => `- ${path}`)].join("\n"),
          )
          .join("\n")}`;
  return new StatusError({ code: 409, reason: "Conflict", message, details: { causes } });
}

/** `"name"` for an applier, `"name" using v1` for an updater; a subresource is named. */
function formatManager({ name, operation, apiVersion, subresource }: Manager): string {
  const who =
    subresource === "" ? quote(name) : `${quote(name)} with subresource ${quote(subresource)}`;
  return operation === "Update" ? `${who} using ${apiVersion}` : who;
}

function formatPaths(fields: FieldSet): string[] {
  return [...pathsOf(sortFieldSet(fields))].map((path: readonly PathElement[]) => formatPath(path));
}
