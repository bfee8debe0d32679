/** `kubectl ws tree`: the workspaces below the current one. */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { DynamicObject } from "@kcp-ts/sdk";
import { logicalClusters } from "@kcp-ts/sdk/kinds";
import { type Session, workspaces } from "./session.ts";

export interface TreeOptions {
  /** Paths instead of names. */
  readonly full?: boolean;
  readonly wide?: boolean;
}

interface Branch {
  readonly label: string;
  readonly branches: readonly Branch[];
}

/** The maximum depth: against trees that grow while they are printed. */
const depthMax = 64;

export async function printTree(session: Session, options: TreeOptions): Promise<void> {
  const { workspace } = session.address;
  const label = options.full === true ? workspace : (workspace.split(":").at(-1) as string);
  const branches = await below(session, workspace, options, 0);
  session.print(["."].concat(lines([{ label, branches }], "")).join("\n"));
}

async function below(
  session: Session,
  path: string,
  options: TreeOptions,
  depth: number,
): Promise<readonly Branch[]> {
  if (depth >= depthMax) return [];
  let items: readonly DynamicObject[];
  try {
    items = (await session.clientIn(path).resource(workspaces).list({})).items;
  } catch (error) {
    // A workspace whose children the user may not list is shown without children.
    if (isStatusError(error, "Forbidden") || isStatusError(error, "NotFound")) return [];
    throw error;
  }
  const branches: Branch[] = [];
  for (const item of items) {
    const name = String(item.metadata.name);
    const child = `${path}:${name}`;
    const isMount = (item["spec"] as { mount?: unknown } | undefined)?.mount !== undefined;
    const text = options.full === true ? child : name;
    const phase = (item["status"] as { phase?: string } | undefined)?.phase ?? "";
    const isOpen = !isMount && phase !== "Scheduling";
    const inside =
      options.wide === true && isOpen ? ` lc=${await phaseInside(session, child)}` : "";
    const wide = options.wide === true ? ` ws=${phase}${inside}` : "";
    const label = `${text}${isMount ? " [m]" : ""}${wide}`;
    branches.push({
      label,
      branches: isOpen ? await below(session, child, options, depth + 1) : [],
    });
  }
  return branches;
}

/** The path of its logical cluster; a question mark for users who may not read it. */
async function phaseInside(session: Session, path: string): Promise<string> {
  try {
    const found = await session.clientIn(path).resource(logicalClusters).get({ name: "cluster" });
    return (found["status"] as { phase?: string } | undefined)?.phase ?? "";
  } catch (error) {
    if (isStatusError(error)) return "?";
    throw error;
  }
}

function lines(branches: readonly Branch[], indent: string): string[] {
  return branches.flatMap(({ label, branches: inner }, at) => {
    const isLast = at === branches.length - 1;
    return [
      `${indent}${isLast ? "└── " : "├── "}${label}`,
      ...lines(inner, `${indent}${isLast ? "    " : "│   "}`),
    ];
  });
}
