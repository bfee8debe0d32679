/** The production checklist: what a server that others depend on has switched on. */
import { type Finding, ok, warning } from "./finding.ts";
import type { Status } from "./read-status.ts";

const items: readonly (readonly [feature: string, isWanted: boolean, next: string])[] = [
  ["audit", true, "--audit-policy-file and --audit-log-path: docs/guides/audit.md"],
  ["encryption-at-rest", true, "--encryption-provider-config: docs/guides/encryption.md"],
  ["priority-and-fairness", true, "--enable-priority-and-fairness=true"],
  ["private-webhook-addresses-denied", true, "--webhook-deny-private-addresses=true"],
  ["durable-storage", true, "--storage embedded, or --etcd-servers: memory keeps nothing"],
  [
    "limits-per-cluster",
    true,
    "--logical-cluster-total-object-limit and --max-watches-per-cluster",
  ],
];

export function checkProduction({ features, servers, store }: Status): readonly Finding[] {
  const switches = items
    .filter(([feature]) => feature in features)
    .map(([feature, isWanted, next]) =>
      features[feature] === isWanted
        ? ok(feature, isWanted ? "on" : "off")
        : warning(feature, isWanted ? "off" : "on", next),
    );
  const several =
    store.backend === "etcd" && servers.length < 2
      ? [
          warning(
            "availability",
            "no other server of this etcd is known",
            "start two or more servers with --peer-url: docs/guides/operating.md",
          ),
        ]
      : [];
  return [...switches, ...several];
}
