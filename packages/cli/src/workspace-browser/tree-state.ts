/**
 * The known tree of workspaces, its visible part, and the effects of keys on it. Pure: it neither
 * reads nor waits nor draws.
 */
import type { Key } from "./keys.ts";

export interface WorkspaceInfo {
  readonly name: string;
  /** As `root:organization`. */
  readonly type: string | undefined;
  readonly cluster: string | undefined;
  /** A mounted workspace is a leaf. */
  readonly isMount: boolean;
}

export interface WorkspaceNode extends WorkspaceInfo {
  readonly path: string;
  readonly parent: string | undefined;
  /** Paths of the children; undefined until they were listed. */
  readonly children: readonly string[] | undefined;
  /** Why the children could not be listed. */
  readonly problem: string | undefined;
}

export interface TreeState {
  readonly nodes: ReadonlyMap<string, WorkspaceNode>;
  readonly root: string;
  /** The kubeconfig's workspace. */
  readonly current: string;
  readonly open: ReadonlySet<string>;
  readonly cursor: string;
  /** The search text; undefined without a search. */
  readonly search: string | undefined;
}

export interface Row {
  readonly node: WorkspaceNode;
  readonly depth: number;
}

/** A search lists the children of all workspaces: in larger trees than this, not of all of them. */
export const searchedMax = 2000;

/**
 * The ancestors of the current workspace, including workspaces whose children the user may not
 * list.
 */
export function initialState(current: string): TreeState {
  const words = current.split(":");
  const paths = words.map((_, at) => words.slice(0, at + 1).join(":"));
  const nodes = new Map<string, WorkspaceNode>();
  for (const [at, path] of paths.entries()) {
    const unknown = { type: undefined, cluster: undefined, isMount: false };
    const known = { path, parent: paths[at - 1], name: words[at] as string };
    nodes.set(path, { ...known, ...unknown, children: undefined, problem: undefined });
  }
  return {
    nodes,
    root: paths[0] as string,
    current,
    cursor: current,
    search: undefined,
    open: new Set(paths),
  };
}

/** The workspaces whose children have to be listed, the nearest first. */
export function unknownNodes(state: TreeState): string[] {
  const { nodes, open, search } = state;
  const isWanted = ({ path, children, problem, isMount }: WorkspaceNode) =>
    children === undefined &&
    problem === undefined &&
    !isMount &&
    (search !== undefined || open.has(path));
  if (search !== undefined && nodes.size >= searchedMax) return [];
  return [...nodes.values()].filter(isWanted).map(({ path }) => path);
}

/**
 * The children of a workspace were listed. Known ancestors of the current workspace are kept,
 * whether or not the list contains them.
 */
export function withChildren(
  state: TreeState,
  path: string,
  found: readonly WorkspaceInfo[],
): TreeState {
  const parent = state.nodes.get(path);
  if (parent === undefined) return state;
  const nodes = new Map(state.nodes);
  const children = found.map(({ name }) => `${path}:${name}`);
  const ahead = wayAhead(state, path);
  if (ahead !== undefined && !children.includes(ahead)) children.push(ahead);
  for (const facts of found) {
    const child = `${path}:${facts.name}`;
    const known = nodes.get(child);
    const { children: below, problem } = known ?? { children: undefined, problem: undefined };
    nodes.set(child, { ...facts, path: child, parent: path, children: below, problem });
  }
  nodes.set(path, { ...parent, children, problem: undefined });
  return { ...state, nodes };
}

export function withProblem(state: TreeState, path: string, problem: string): TreeState {
  const node = state.nodes.get(path);
  if (node === undefined) return state;
  const ahead = wayAhead(state, path);
  const children = ahead === undefined ? [] : [ahead];
  return { ...state, nodes: new Map(state.nodes).set(path, { ...node, children, problem }) };
}

/** The next ancestor on the path to the current workspace. */
function wayAhead({ current }: TreeState, path: string): string | undefined {
  if (!current.startsWith(`${path}:`)) return undefined;
  const end = current.indexOf(":", path.length + 1);
  return end < 0 ? current : current.slice(0, end);
}

/** The visible rows, from top to bottom. */
export function rowsOf(state: TreeState): Row[] {
  const shown = state.search === undefined ? undefined : foundNodes(state, state.search);
  const rows: Row[] = [];
  const add = (path: string, depth: number) => {
    const node = state.nodes.get(path);
    if (node === undefined || shown?.has(path) === false) return;
    rows.push({ node, depth });
    if (shown === undefined && !state.open.has(path)) return;
    for (const child of childrenOf(state, node)) add(child, depth + 1);
  };
  add(state.root, 0);
  return rows;
}

/** Before its children are listed, a workspace shows only the path to the current one. */
function childrenOf(state: TreeState, { path, children }: WorkspaceNode): readonly string[] {
  if (children !== undefined) return children;
  const ahead = wayAhead(state, path);
  return ahead === undefined ? [] : [ahead];
}

export function isFound({ name }: WorkspaceNode, text: string): boolean {
  return name.toLowerCase().includes(text.toLowerCase());
}

/**
 * The workspaces whose name contains the text, and all their ancestors; the root is always visible.
 */
function foundNodes({ nodes, root }: TreeState, text: string): Set<string> {
  const found = new Set([root]);
  for (const node of nodes.values()) {
    if (!isFound(node, text)) continue;
    for (let at: string | undefined = node.path; at !== undefined; at = nodes.get(at)?.parent)
      found.add(at);
  }
  return found;
}

export type KeyResult =
  | { readonly kind: "stay"; readonly state: TreeState }
  | { readonly kind: "leave" }
  | { readonly kind: "choose"; readonly path: string };

/** `page` is the number of visible rows. */
export function handleKey(state: TreeState, key: Key, page: number): KeyResult {
  if (key.kind === "interrupt") return { kind: "leave" };
  if (key.kind === "enter") return { kind: "choose", path: state.cursor };
  if (key.kind === "escape" && state.search === undefined) return { kind: "leave" };
  if (key.kind === "text" && key.text === "q" && state.search === undefined)
    return { kind: "leave" };
  return { kind: "stay", state: moved(state, key, page) };
}

function moved(state: TreeState, key: Key, page: number): TreeState {
  if (state.search !== undefined) return searched(state, state.search, key, page);
  if (key.kind !== "text") return steps[key.kind]?.(state, page) ?? state;
  return letters[key.text]?.(state, page) ?? state;
}

/** During a search, letters extend the search text. */
function searched(state: TreeState, search: string, key: Key, page: number): TreeState {
  if (key.kind === "text") return toFirstFound({ ...state, search: search + key.text });
  if (key.kind === "backspace") return toFirstFound({ ...state, search: search.slice(0, -1) });
  if (key.kind === "escape") return revealed({ ...state, search: undefined });
  if (key.kind === "left" || key.kind === "right") return state;
  return steps[key.kind]?.(state, page) ?? state;
}

/** Selects the first match, unless the selected workspace matches, too. */
export function toFirstFound(state: TreeState): TreeState {
  const rows = rowsOf(state);
  const isMeant = ({ node }: Row) => isFound(node, state.search ?? "");
  const here = rows.find(({ node }) => node.path === state.cursor);
  if (here !== undefined && isMeant(here)) return state;
  const first = rows.find(isMeant) ?? rows[0];
  return first === undefined ? state : { ...state, cursor: first.node.path };
}

/** Keeps the selected row visible. */
function revealed(state: TreeState): TreeState {
  const open = new Set(state.open);
  for (
    let at = state.nodes.get(state.cursor)?.parent;
    at !== undefined;
    at = state.nodes.get(at)?.parent
  )
    open.add(at);
  return { ...state, open };
}

type Step = (state: TreeState, page: number) => TreeState;

const up: Step = (state) => by(state, -1);
const down: Step = (state) => by(state, 1);
const pageUp: Step = (state, page) => by(state, -page);
const pageDown: Step = (state, page) => by(state, page);
const first: Step = (state) => by(state, Number.NEGATIVE_INFINITY);
const last: Step = (state) => by(state, Number.POSITIVE_INFINITY);
const expand: Step = (state) => ({ ...state, open: new Set(state.open).add(state.cursor) });
const search: Step = (state) => ({ ...state, search: "" });

/** On a closed workspace it selects the parent. */
const collapse: Step = (state) => {
  const { open, cursor, nodes } = state;
  if (isOpen(state)) return { ...state, open: without(open, cursor) };
  return { ...state, cursor: nodes.get(cursor)?.parent ?? cursor };
};

const toggle: Step = (state) =>
  isOpen(state) ? { ...state, open: without(state.open, state.cursor) } : expand(state, 0);

const steps: Readonly<Partial<Record<Key["kind"], Step>>> = {
  up,
  down,
  left: collapse,
  right: expand,
  backspace: collapse,
  home: first,
  end: last,
  "page-up": pageUp,
  "page-down": pageDown,
};

const letters: Readonly<Record<string, Step>> = Object.assign(Object.create(null) as object, {
  k: up,
  j: down,
  h: collapse,
  l: expand,
  " ": toggle,
  g: first,
  G: last,
  "/": search,
});

/** Whether the selected workspace is open, with visible children. */
function isOpen(state: TreeState): boolean {
  const node = state.nodes.get(state.cursor);
  return node !== undefined && state.open.has(node.path) && childrenOf(state, node).length > 0;
}

function by(state: TreeState, count: number): TreeState {
  const rows = rowsOf(state);
  const at = rows.findIndex(({ node }) => node.path === state.cursor);
  const next = Math.max(0, Math.min(rows.length - 1, at + count));
  return { ...state, cursor: rows[next]?.node.path ?? state.cursor };
}

function without(set: ReadonlySet<string>, one: string): Set<string> {
  const rest = new Set(set);
  rest.delete(one);
  return rest;
}
