/** Creates the audit log from options: the policy file, a log, a webhook. */
import { dirname, resolve } from "node:path";
import {
  type AuditBackend,
  AuditPolicyError,
  type AuditWiringOptions,
  type BackendObserver,
  LogBackend,
  parseAuditPolicy,
  type ServerLog,
  WebhookBackend,
} from "@kcp-ts/apiserver";
import { parseManifests } from "@kcp-ts/apiserver/manifests";
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { type AuditOptions, OptionsError } from "../options.ts";
import { makeFolder, readFlagFile } from "./start-up.ts";
import { connectWebhook, type WebhookConnection } from "./webhook-connection.ts";

interface AuditDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Pick<ServerLog, "warn">;
}

export async function composeAudit(
  options: AuditOptions,
  parts: AuditDependencies,
): Promise<AuditWiringOptions | undefined> {
  const { policyFile, logPath, webhookConfigFile } = options;
  const hasBackend = logPath !== undefined || webhookConfigFile !== undefined;
  if (policyFile === undefined) {
    if (hasBackend)
      parts.log.warn(
        {},
        "No audit policy file provided, no events are recorded: set --audit-policy-file",
      );
    return undefined;
  }
  const policy = readPolicy(await readFlagFile("--audit-policy-file", policyFile), policyFile);
  if (!hasBackend) {
    parts.log.warn(
      {},
      "No audit backend provided, no events are recorded: set --audit-log-path or --audit-webhook-config-file",
    );
    return undefined;
  }
  // Opened at the start, where the operator sees the error: an unwritable log would go unnoticed
  // later.
  if (logPath !== undefined && logPath !== "-")
    await makeFolder(dirname(resolve(logPath)), {
      what: "the folder of the audit log",
      flag: "--audit-log-path",
    });
  const connection =
    webhookConfigFile === undefined
      ? undefined
      : await connectWebhook(webhookConfigFile, parts.clock);
  return {
    policy,
    backends: (observer) => [
      ...(logPath === undefined ? [] : [logBackend(logPath, options, parts, observer)]),
      ...(connection === undefined ? [] : [webhookBackend(connection, options, parts, observer)]),
    ],
  };
}

function readPolicy(text: string, path: string) {
  const [document] = parseManifests(text, path);
  if (document === undefined) throw new OptionsError(`${path} is empty`);
  try {
    return parseAuditPolicy(document);
  } catch (error) {
    if (error instanceof AuditPolicyError) throw new OptionsError(`${path}: ${error.message}`);
    throw error;
  }
}

function logBackend(
  path: string,
  { logMaxSizeMegabytes, logMaxBackups, logMaxAgeDays, isLogBlocking }: AuditOptions,
  { clock }: AuditDependencies,
  observer: BackendObserver,
): AuditBackend {
  return new LogBackend({
    path,
    clock,
    sizeMaxBytes: logMaxSizeMegabytes << 20,
    backupsMax: logMaxBackups,
    ageMaxDays: logMaxAgeDays,
    isBlocking: isLogBlocking,
    ...heard("log", observer),
  });
}

function webhookBackend(
  { post, close }: WebhookConnection,
  { webhookBatchMaxSize: batchEventsMax, webhookInitialBackoffMs }: AuditOptions,
  { clock, random }: AuditDependencies,
  observer: BackendObserver,
): AuditBackend {
  const backend = new WebhookBackend({
    clock,
    random,
    limits: { batchEventsMax, backoffInitialMs: webhookInitialBackoffMs },
    send: async (body) => {
      const { status } = await post(body);
      if (status >= 300) throw new Error(`the audit webhook answered ${status}`);
    },
    ...heard("webhook", observer),
  });
  return {
    name: backend.name,
    write: (event, encoded) => backend.write(event, encoded),
    // An open connection would keep the process alive.
    close: async () => {
      await backend.close();
      await close();
    },
  };
}

function heard(plugin: string, observer: BackendObserver) {
  return {
    onDropped: (events: number) => observer.onDropped(plugin, events),
    onError: (error: unknown) => observer.onError(plugin, error),
  };
}
