/** Renders the tree as lines of text for a terminal of a given size. */
import { isControl } from "./keys.ts";
import {
  isFound,
  type Row,
  rowsOf,
  searchedMax,
  type TreeState,
  type WorkspaceNode,
} from "./tree-state.ts";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface View {
  readonly lines: readonly string[];
  /** The first visible row of the tree. */
  readonly top: number;
}

export interface ViewOptions {
  readonly size: Size;
  /** That of the previous view. */
  readonly top: number;
  readonly hasColors: boolean;
  readonly isLoading: boolean;
}

const title = "kcp Workspaces";
const help = "↑/↓ move  →/←/Space open, close  / search  Enter go there  q leave";
const searchHelp = "↑/↓ move  Enter go there  Esc all of them";
const more = "  ...";
/** The title, a line below it, a line above the help, the help. */
const chromeRows = 4;
const treeRowsMin = 3;

/** The rows of the tree that fit on a terminal. */
export function treeRows({ rows }: Size): number {
  return Math.max(treeRowsMin, rows - chromeRows);
}

export function viewOf(state: TreeState, options: ViewOptions): View {
  const { size, hasColors, isLoading } = options;
  const rows = rowsOf(state);
  const at = rows.findIndex(({ node }) => node.path === state.cursor);
  const height = treeRows(size);
  const top = scrolled(options.top, at, rows.length, height);
  const seen = rows.slice(top, top + height).map((row) => lineOf(row, state, size, hasColors));
  if (top > 0) seen[0] = more;
  if (top + height < rows.length) seen[height - 1] = more;
  while (seen.length < height) seen.push("");
  const { columns } = size;
  const lines = [
    headerOf(state.nodes.get(state.cursor), columns, hasColors),
    "",
    ...seen,
    cut(statusOf(state, rows, isLoading), columns),
    styled(cut(state.search === undefined ? help : searchHelp, columns), dim, hasColors),
  ];
  return { lines, top };
}

/**
 * The smallest scroll that makes the row at `at` visible; the first and the last row with dots hide
 * rows.
 */
export function scrolled(top: number, at: number, count: number, height: number): number {
  const bottom = Math.max(0, count - height);
  const within = (wanted: number) => Math.max(0, Math.min(bottom, wanted));
  let next = within(top);
  if (at <= next) next = within(at - 1);
  else if (at >= next + height - 1) next = within(at - height + 2);
  return next;
}

function lineOf(
  { node, depth }: Row,
  state: TreeState,
  { columns }: Size,
  colors: boolean,
): string {
  const isHere = node.path === state.cursor;
  const mark = node.isMount ? " [m]" : "";
  const problem = node.problem === undefined ? "" : `  (${plain(node.problem)})`;
  const text = `${isHere ? "→ " : "  "}${"  ".repeat(depth)}${iconOf(node, state)}${plain(node.name)}${mark}${problem}`;
  const line = cut(text, columns);
  const style = `${node.path === state.current ? bright : ""}${isHere ? reverse : ""}`;
  return styled(line, style, colors);
}

function iconOf({ path, children, isMount }: WorkspaceNode, { open, search }: TreeState): string {
  if (isMount || children?.length === 0) return "  ";
  return search !== undefined || open.has(path) ? "▼ " : "▶ ";
}

function headerOf(node: WorkspaceNode | undefined, columns: number, colors: boolean): string {
  const facts = [
    node?.path,
    node?.type,
    node?.cluster === undefined ? undefined : `cluster:${node.cluster}`,
  ];
  const details = facts
    .filter((one) => one !== undefined)
    .map(plain)
    .join(" | ");
  const heading = styled(cut(title, columns), bold, colors);
  const room = columns - title.length - 1;
  return room <= 0 ? heading : `${heading} ${cut(details, room).padStart(room)}`;
}

function statusOf({ search, nodes }: TreeState, rows: readonly Row[], isLoading: boolean): string {
  const loading = isLoading ? "  Loading..." : "";
  if (search === undefined) return loading;
  const isCutShort = nodes.size >= searchedMax;
  const count = rows.filter(({ node }) => isFound(node, search)).length;
  const among = isCutShort ? ` among the first ${nodes.size} workspaces` : "";
  return `/${plain(search)}▏ ${count} found${among}${loading}`;
}

const bold = "\u001b[1m";
const dim = "\u001b[2m";
const reverse = "\u001b[7m";
const bright = "\u001b[33;1m";
const ordinary = "\u001b[0m";

function styled(text: string, style: string, colors: boolean): string {
  return colors && style !== "" && text !== "" ? `${style}${text}${ordinary}` : text;
}

/** Texts of a server are printed without their control characters. */
function plain(text: string): string {
  return [...text].map((char) => (isControl(char) ? "?" : char)).join("");
}

function cut(text: string, columns: number): string {
  const chars = [...text];
  return chars.length <= columns ? text : `${chars.slice(0, Math.max(0, columns - 1)).join("")}…`;
}
