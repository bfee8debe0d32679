/**
 * Paths that every user may access, whatever the other authorizers decide: complete paths, or
 * prefixes that end in `*`.
 */
import type { Attributes } from "../request/index.ts";
import type { Authorizer, Decision } from "./authorizer.ts";

export class AllowedPathsError extends Error {
  override readonly name = "AllowedPathsError";
}

/** Resource requests are not included. Throws when a `*` is elsewhere than at the end. */
export function allowedPaths(paths: readonly string[]): Authorizer {
  const whole = new Set<string>();
  const beginnings: string[] = [];
  for (const path of paths.map(withoutSlash)) {
    if (path.slice(0, -1).includes("*"))
      throw new AllowedPathsError(`only trailing * allowed in "${path}"`);
    if (path.endsWith("*")) beginnings.push(path.slice(0, -1));
    else whole.add(path);
  }
  return {
    authorize({ isResourceRequest, path: asked }: Attributes): Decision {
      if (isResourceRequest) return refused;
      const path = withoutSlash(asked);
      const isAllowed = whole.has(path) || beginnings.some((each) => path.startsWith(each));
      return isAllowed ? allowed : refused;
    },
  };
}

const allowed: Decision = { allowed: true, reason: "path that is always allowed" };
const refused: Decision = { allowed: false, reason: "" };

function withoutSlash(path: string): string {
  return path.startsWith("/") ? path.slice(1) : path;
}
