/**
 * The error that lists the fields of an apply that other managers own. kubectl prints its texts,
 * and controllers parse them.
 */
import { quote, type StatusCause, StatusError } from "../status/index.ts";
import { compareText } from "./compare-text.ts";
import { pathsOf } from "./field-set.ts";
import { sortFieldSet } from "./fields-v1.ts";
import type { Manager, Managers } from "./managed-fields.ts";
import type { Conflicts } from "./ownership.ts";
import { formatPath } from "./path-element.ts";

/** Further conflicts are counted but not listed: the response must not grow with the object. */
export const conflictsListedMax = 1000;

export function conflictError(conflicts: Conflicts, managers: Managers): StatusError {
  const groups: { readonly manager: string; readonly paths: string[] }[] = [];
  let count = 0;
  for (const [identity, fields] of [...conflicts].sort(([a], [b]) => compareText(a, b))) {
    const paths: string[] = [];
    for (const path of pathsOf(sortFieldSet(fields))) {
      if (count++ < conflictsListedMax) paths.push(formatPath(path));
    }
    const manager = formatManager(managers.get(identity) as Manager);
    if (paths.length > 0) groups.push({ manager, paths });
  }
  const causes: StatusCause[] = groups.flatMap(({ manager, paths }) =>
    paths.map((field) => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${manager}`,
      field,
    })),
  );
  return new StatusError({
    code: 409,
    reason: "Conflict",
    message: formatMessage(count, groups),
    details: { causes },
  });
}

function formatMessage(
  count: number,
  groups: readonly { readonly manager: string; readonly paths: readonly string[] }[],
): string {
  const [first] = groups;
  if (count === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${first.manager}: ${first.paths[0]}`;
  }
  const lines = groups.flatMap(({ manager, paths }) => [
    `conflicts with ${manager}:`,
    ...paths.map((path) => `- ${path}`),
  ]);
  if (count > conflictsListedMax) lines.push(`and ${count - conflictsListedMax} more`);
  return `Apply failed with ${count} conflicts: ${lines.join("\n")}`;
}

/** `"name"` for an applier, `"name" using v1` for an updater; a subresource is named. */
function formatManager({ name, operation, apiVersion, subresource }: Manager): string {
  const who =
    subresource === "" ? quote(name) : `${quote(name)} with subresource ${quote(subresource)}`;
  return operation === "Update" ? `${who} using ${apiVersion}` : who;
}
