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
      "comma-separated authorizers, in this order (default: AlwaysAllowGroups,AlwaysAllowPaths,RBAC,Webhook)",
      listed,
    )
    .option(
      "--authorization-always-allow-paths <paths>",
      "comma-separated HTTP paths that need no authorization; a trailing * matches any suffix (default: /healthz,/readyz,/livez)",
      listed,
    )
    .option(
      "--authorization-webhook-config-file <path>",
      "kubeconfig file of the authorization webhook, which receives SubjectAccessReviews",
    )
    .option(
      "--authorization-webhook-version <version>",
      "API version of the SubjectAccessReviews for the webhook: v1 or v1beta1 (default: v1beta1)",
    )
    .option(
      "--authorization-webhook-cache-authorized-ttl <duration>",
      "duration to cache authorized responses from the webhook (default: 5m)",
      duration("--authorization-webhook-cache-authorized-ttl"),
    )
    .option(
      "--authorization-webhook-cache-unauthorized-ttl <duration>",
      "duration to cache unauthorized responses from the webhook (default: 30s)",
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
