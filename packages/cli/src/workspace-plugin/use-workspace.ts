/** `kubectl ws <where>`, `kubectl ws .`, `kubectl ws create-context`. */
import { isStatusError } from "@kcp-ts/machinery/status";
import { warnOfPermissionClaims } from "./claim-warnings.ts";
import { addContext, restorePreviousContext, setContextServer } from "./kubeconfig-contexts.ts";
import {
  formatServerAddress,
  isUnmarkedAbsolute,
  parseServerAddress,
  resolveWorkspace,
} from "./server-address.ts";
import { type Session, typeOfWorkspace, workspaces } from "./session.ts";

export interface UseOptions {
  readonly short?: boolean;
}

const homeNote =
  "Note: 'kubectl ws' now matches 'cd' semantics: go to home workspace. 'kubectl ws -' to go back. 'kubectl ws .' to print current workspace.";

export async function useWorkspace(
  session: Session,
  argument: string | undefined,
  options: UseOptions,
): Promise<void> {
  if (argument === ".") return printCurrent(session, options);
  if (argument === "-") return goBack(session, options);
  if (argument === undefined) session.note(homeNote);
  if (argument === undefined || argument === "~") return goHome(session, options);
  if (isUnmarkedAbsolute(argument))
    session.note(
      `Note: Using 'root:' to define an absolute path is deprecated, use ':${argument}'.`,
    );
  const { base, workspace } = session.address;
  await goTo(
    session,
    formatServerAddress({ base, workspace: resolveWorkspace(workspace, argument) }),
    options,
  );
}

async function goHome(session: Session, options: UseOptions): Promise<void> {
  const home = await session.clientIn("root").resource(workspaces).get({ name: "~" });
  const { URL: url } = home["spec"] as unknown as { URL: string };
  const target = parseServerAddress(url);
  if (target === undefined)
    throw new Error(`home workspace URL "${url}" does not point to a workspace`);
  const { base } = session.address;
  await goTo(session, formatServerAddress({ base, workspace: target.workspace }), options);
}

async function goBack(session: Session, options: UseOptions): Promise<void> {
  const { document } = restorePreviousContext(session.document);
  await session.save(document);
  await printCurrent(session, options);
}

async function goTo(session: Session, server: string, options: UseOptions): Promise<void> {
  const workspace = parseServerAddress(server)?.workspace ?? "";
  await checkAccess(session, workspace);
  const type = await typeOfWorkspace(session, workspace);
  await session.save(setContextServer(session.document, session.contextTarget, server));
  session.print(currentText(workspace, type, options));
  await warnOfPermissionClaims(session, workspace);
}

/** Discovery is allowed for every user who may enter the workspace. */
async function checkAccess(session: Session, workspace: string): Promise<void> {
  try {
    const client = session.clientIn(workspace);
    await Promise.all(["/apis", "/api"].map((path) => client.json({ method: "GET", path })));
  } catch (error) {
    if (isStatusError(error, "NotFound")) throw new Error(`workspace "${workspace}" not found`);
    if (isStatusError(error, "Forbidden"))
      throw new Error(`access to workspace "${workspace}" denied`);
    throw error;
  }
}

export async function printCurrent(session: Session, options: UseOptions): Promise<void> {
  const address = parseServerAddress(session.serverUrl);
  if (address === undefined) {
    session.print(
      options.short === true
        ? session.serverUrl
        : `Current workspace is the URL "${session.serverUrl}".`,
    );
    return;
  }
  const { workspace } = address;
  const type = options.short === true ? undefined : await typeOfWorkspace(session, workspace);
  session.print(currentText(workspace, type, options));
}

function currentText(workspace: string, type: string | undefined, { short }: UseOptions): string {
  if (short === true) return workspace;
  return `Current workspace is '${workspace}'${type === undefined ? "" : ` (type ${type})`}.`;
}

export async function createContext(
  session: Session,
  name: string | undefined,
  { overwrite = false }: { readonly overwrite?: boolean },
): Promise<void> {
  const { workspace } = session.address;
  const wanted = name ?? workspace;
  const wasCurrent = session.contextName === wanted;
  await session.save(addContext(session.document, wanted, session.contextTarget, { overwrite }));
  session.print(
    wasCurrent ? `Updated context "${wanted}".` : `Created context "${wanted}" and switched to it.`,
  );
}
