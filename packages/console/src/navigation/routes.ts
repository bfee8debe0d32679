/** The places of the console, and their addresses. Pure: the address says all that a page shows. */
export type Screen =
  | "workspace"
  | "list"
  | "object"
  | "create"
  | "placements"
  | "placement"
  | "clusters"
  | "cluster"
  | "sharing"
  | "access"
  | "usage"
  | "audit"
  | "logs"
  | "shell";

export interface Route {
  readonly screen: Screen;
  /** A workspace path, a logical cluster, or `*` for all of them. */
  readonly cluster: string;
  /** As in `deployments.apps`. */
  readonly resource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** Filters, tabs and order. */
  readonly query: Readonly<Record<string, string>>;
}

const base = "/console/";
/** The parts of a path behind the screen, by screen. */
const parts: Readonly<Record<Screen, readonly ("resource" | "namespace" | "name")[]>> = {
  workspace: [],
  list: ["resource"],
  object: ["resource", "namespace", "name"],
  create: ["resource"],
  placements: [],
  placement: ["namespace", "name"],
  clusters: [],
  cluster: ["name"],
  sharing: [],
  access: [],
  usage: [],
  audit: [],
  logs: ["resource", "namespace", "name"],
  shell: ["namespace", "name"],
};
/** Stands for a part that is empty: the namespace of an object without one. */
const none = "-";

export function formatRoute(route: Omit<Route, "query"> & { query?: Route["query"] }): string {
  const behind = parts[route.screen].map((part) => encodeURIComponent(route[part] ?? none));
  const screen = route.screen === "workspace" ? [] : [route.screen];
  const path = ["c", encodePath(route.cluster), ...screen, ...behind].join("/");
  const query = new URLSearchParams(
    Object.entries(route.query ?? {}).filter(([, value]) => value !== ""),
  ).toString();
  return `${base}${path}${query === "" ? "" : `?${query}`}`;
}

/** Undefined for an address that means nothing. */
export function parseRoute(path: string, search: string): Route | undefined {
  if (!path.startsWith(`${base}c/`)) return undefined;
  const [cluster = "", screen = "workspace", ...behind] = path
    .slice(base.length + 2)
    .replace(/\/$/, "")
    .split("/")
    .map(decoded);
  if (cluster === "" || !Object.hasOwn(parts, screen)) return undefined;
  const names = parts[screen as Screen];
  if (behind.length !== names.length) return undefined;
  const named = Object.fromEntries(
    names.flatMap((name, at) => (behind[at] === none ? [] : [[name, behind[at] as string]])),
  );
  const query = Object.fromEntries(new URLSearchParams(search));
  return { screen: screen as Screen, cluster, ...named, query };
}

/** Colons of workspace paths stay readable. */
function encodePath(cluster: string): string {
  return encodeURIComponent(cluster).replaceAll("%3A", ":").replaceAll("*", "*");
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // Not an encoded text: it is taken as it is, and names nothing.
    return part;
  }
}

/** `root:org:team` is below `root:org`; a root has no parent. */
export function parentOf(cluster: string): string | undefined {
  const at = cluster.lastIndexOf(":");
  return at === -1 ? undefined : cluster.slice(0, at);
}
