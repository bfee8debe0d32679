/** A backup through a running server, which holds the lock of the store. */
import { type BackupSummary, backupPath } from "@kcp-ts/apiserver";
import { bounds, parseBounded } from "@kcp-ts/machinery/bounds";
import { connect, type Kubeconfig, loadKubeconfig } from "@kcp-ts/sdk/kubeconfig";
import { OptionsError } from "../options.ts";
import { type Progress, writeBackupFile } from "./backup-file.ts";

export interface ServerBackup {
  readonly kubeconfigPath: string;
  readonly context: string | undefined;
  /** Overrides the server of the kubeconfig. */
  readonly server: string | undefined;
  readonly file: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

/** A client of a user who passes every check, without a logical cluster. */
const defaultContext = "shard-base";

export async function backupFromServer(options: ServerBackup): Promise<BackupSummary> {
  const { kubeconfigPath: path, file, signal, onProgress } = options;
  const kubeconfig = withServer(await loadKubeconfig({ path }), options.server);
  const context =
    options.context ?? (kubeconfig.contexts.has(defaultContext) ? defaultContext : undefined);
  const { transport, close } = connect(kubeconfig, { context });
  try {
    const request = { method: "GET", path: backupPath, headers: {}, signal } as const;
    const { status, body } = await transport.send(request);
    if (status !== 200) throw refusal(status, await body.text(bounds.refusal.bytesMax), path);
    return await writeBackupFile(file, body, onProgress);
  } finally {
    await close();
  }
}

function withServer(kubeconfig: Kubeconfig, server: string | undefined): Kubeconfig {
  if (server === undefined) return kubeconfig;
  const clusters = [...kubeconfig.clusters].map(
    ([name, entry]) => [name, { ...entry, server }] as const,
  );
  return { ...kubeconfig, clusters: new Map(clusters) };
}

function refusal(status: number, text: string, path: string): OptionsError {
  const message = messageOf(text);
  if (status === 401 || status === 403) {
    return new OptionsError(
      `the server refuses a backup: ${message}; use the shard-admin of the server's own admin.kubeconfig (credentials of ${path} were used)`,
    );
  }
  return new OptionsError(`the server answered ${status}: ${message}`);
}

function messageOf(text: string): string {
  try {
    return String((parseBounded(bounds.refusal, text) as { message?: unknown }).message ?? text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return text.slice(0, 200);
  }
}
