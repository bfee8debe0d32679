/** The authorization flags of `kcp start`. */
import type { ControlPlaneOptions } from "@kcp-ts/controlplane";
import type { Command } from "commander";
import { durationFlag, listed } from "./flags.ts";

export interface AuthorizationFlags {
  readonly authorizationOrder?: readonly string[];
  readonly authorizationAlwaysAllowPaths?: readonly string[];
  readonly authorizationWebhookConfigFile?: string;
  readonly authorizationWebhookVersion?: string;
  readonly authorizationWebhookCacheAuthorizedTtl?: number;
  readonly authorizationWebhookCacheUnauthorizedTtl?: number;
}

export function addAuthorizationFlags(command: Command): void {
  const duration = (name: string) => durationFlag(name, { mayBeZero: true });
  command
    .optionsGroup("Authorization flags:")
    .option(
      "--authorization-order <names>",
      "who is asked, and in which order (default: AlwaysAllowGroups,AlwaysAllowPaths,RBAC,Webhook)",
      listed,
    )
    .option(
      "--authorization-always-allow-paths <paths>",
      "open to everybody; a * at the end stands for whatever follows (default: /healthz,/readyz,/livez)",
      listed,
    )
    .option(
      "--authorization-webhook-config-file <path>",
      "kubeconfig of a server that is asked by SubjectAccessReviews",
    )
    .option("--authorization-webhook-version <version>", "v1 or v1beta1 (default: v1beta1)")
    .option(
      "--authorization-webhook-cache-authorized-ttl <duration>",
      "how long a yes is remembered (default: 5m)",
      duration("--authorization-webhook-cache-authorized-ttl"),
    )
    .option(
      "--authorization-webhook-cache-unauthorized-ttl <duration>",
      "how long a no is remembered (default: 30s)",
      duration("--authorization-webhook-cache-unauthorized-ttl"),
    );
}

export function authorizationOptionsOf(flags: AuthorizationFlags) {
  return {
    authorizationOrder: flags.authorizationOrder,
    authorizationAlwaysAllowPaths: flags.authorizationAlwaysAllowPaths,
    authorizationWebhookConfigFile: flags.authorizationWebhookConfigFile,
    authorizationWebhookVersion: flags.authorizationWebhookVersion,
    authorizationWebhookCacheAuthorizedTtlMs: flags.authorizationWebhookCacheAuthorizedTtl,
    authorizationWebhookCacheUnauthorizedTtlMs: flags.authorizationWebhookCacheUnauthorizedTtl,
  } satisfies Partial<ControlPlaneOptions>;
}
