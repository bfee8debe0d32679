/** The rows of a tree of workspaces, of which only some levels and pages are loaded. Pure. */

/** The children of one workspace, as far as they are loaded. */
export interface Level {
  readonly names: readonly string[];
  readonly next?: string | undefined;
  /** About how many are not loaded. */
  readonly remaining: number;
  readonly error?: unknown;
}

interface RowPlace {
  /** Of the workspace, or of the one whose children are not all there. */
  readonly path: string;
  readonly depth: number;
}

export interface WorkspaceRow extends RowPlace {
  readonly kind: "workspace";
  readonly name: string;
  readonly position: number;
  /** Of its siblings. */
  readonly size: number;
  readonly isOpen: boolean;
}

export type TreeRow =
  | WorkspaceRow
  | (RowPlace & { readonly kind: "loading" })
  | (RowPlace & { readonly kind: "more"; readonly remaining: number })
  | (RowPlace & { readonly kind: "failed"; readonly error: unknown });

export interface TreeState {
  readonly root: string;
  readonly current: string;
  readonly open: ReadonlySet<string>;
  readonly levels: ReadonlyMap<string, Level>;
}

export function treeRows(state: TreeState): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  addWorkspace(rows, state, { path: state.root, name: state.root, depth: 1, position: 1, size: 1 });
  return rows;
}

type Place = Omit<WorkspaceRow, "kind" | "isOpen">;

function addWorkspace(rows: TreeRow[], state: TreeState, place: Place): void {
  const { path, depth } = place;
  const isOpen = state.open.has(path);
  rows.push({ kind: "workspace", ...place, isOpen });
  if (!isOpen) return;
  const level = state.levels.get(path);
  const below = { path, depth: depth + 1 };
  if (level === undefined) {
    rows.push({ kind: "loading", ...below });
    return;
  }
  const names = namesWith(level, childOnPath(path, state.current));
  const size = level.names.length + level.remaining;
  for (const [at, name] of names.entries())
    addWorkspace(rows, state, {
      path: `${path}:${name}`,
      name,
      depth: depth + 1,
      position: at + 1,
      size,
    });
  if (level.error !== undefined) rows.push({ kind: "failed", ...below, error: level.error });
  else if (level.next !== undefined)
    rows.push({ kind: "more", ...below, remaining: level.remaining });
}

/** `root:a` has the child `b` on the path to `root:a:b:c`. */
export function childOnPath(path: string, current: string): string | undefined {
  return current.startsWith(`${path}:`) ? current.slice(path.length + 1).split(":")[0] : undefined;
}

/** The workspace that is shown has its place, also where the page that it is on is not loaded. */
function namesWith({ names, next }: Level, shown: string | undefined): readonly string[] {
  const last = names.at(-1);
  if (shown === undefined || next === undefined || (last !== undefined && shown <= last))
    return names;
  return [...names, shown];
}
