/**
 * Whatever somebody else can make large goes through the room of bounds (`machinery/bounds`,
 * docs/adr/0064): calls that parse, gather or unpack without naming a bound are found, unless the
 * file is listed with the reason why nobody else decides how much it is.
 */
import { lineOf, type SourceFile } from "./source-file.ts";
import type { SourceTree } from "./source-tree.ts";

interface Unbounded {
  readonly pattern: RegExp;
  readonly instead: string;
}

const unbounded: readonly Unbounded[] = [
  {
    pattern: /\bJSON\.parse\(|\bparseJson\(|\bparseResumable\(/g,
    instead: "parseBounded(bounds.…) or parseBoundedResumable(bounds.…)",
  },
  { pattern: /\b(?:yaml\.load|loadAll|parseYamlDocuments|parseEvents)\(/g, instead: "a bound" },
  { pattern: /\bBuffer\.concat\(/g, instead: "readBounded(bounds.…)" },
  {
    pattern: /\bawait [\w.]*(?:body|response|answer)\.(?:text|json|arrayBuffer|blob)\(\)/g,
    instead: "text(bounds.….bytesMax)",
  },
  {
    pattern:
      /\b(?:createGunzip|createInflate|createInflateRaw|createUnzip|createBrotliDecompress|(?:gunzip|inflate|inflateRaw|unzip|brotliDecompress)(?:Sync)?)\((?![^)]*maxOutputLength)/g,
    instead: "maxOutputLength, or a bound of what comes out",
  },
];

/** The room itself, and the parser below it. */
const room = ["packages/machinery/src/bounds/", "packages/machinery/src/json/"];

const own = "it puts together what this process wrote";
const annotations = "annotations: 256 KiB in all by admission, and an object has 3 MiB";
const operator = "it reads what the operator gives, on the operator's machine";
const stored = "it reads what this server stored, which was bounded on the way in";
const sibling = "another shard of the same operator; a client's part of it was bounded there";
const counted = "it counts the bytes itself, and stops at a limit";

/** By path, or by folder: why nobody else decides how much it is. */
export const boundless: Readonly<Record<string, string>> = {
  "packages/testkit/src/": "tests only",
  "packages/simulator/src/": "a pretended cluster for development, whose users are its owner",
  "packages/sdk/src/fake-server/": "tests of controllers only",
  "packages/testing/src/merge-events.ts": "tests of controllers only",
  "packages/testing/src/stale-replica.ts": "tests of controllers only",
  "packages/pki/src/der-writer.ts": own,
  "packages/multicluster-server/src/sync-target-admission.ts": annotations,
  "packages/apiserver/src/log.ts": own,
  "packages/apiserver/src/admission-sources/declared-kind.ts":
    "the schema of a definition, which was bounded, as this process published it",
  "packages/apiserver/src/manifests/read-manifests.ts": operator,
  "packages/multicluster/src/api/json-object.ts": annotations,
  "packages/multicluster/src/api-importer/import-object.ts": own,
  "packages/multicluster/src/registration/seal.ts": own,
  "packages/multicluster/src/syncer/cached-object.ts":
    "objects that an informer keeps, which its client has bounded",
  "packages/multicluster/src/tunnel/multiplexer.ts": "frames have 256 KiB at most",
  "packages/multicluster/src/tunnel/peer-router.ts": "another server of the same operator",
  "packages/multicluster/src/tunnel/pod-connections.ts": counted,
  "packages/multicluster/src/tunnel/pod-proxy.ts": counted,
  "packages/multicluster/src/tunnel/pod-metrics.ts": counted,
  "packages/multicluster/src/tunnel/run-tunnel.ts": "an agent believes its control plane",
  "packages/sdk/src/client/response-limits.ts": "for servers that are believed, see AnswerBounds",
  "packages/sdk/src/client/list-stream.ts": "for servers that are believed, see AnswerBounds",
  "packages/sdk/src/client/parse-list.ts": "for servers that are believed, see AnswerBounds",
  "packages/sdk/src/client/object-reader.ts": "for servers that are believed, see AnswerBounds",
  "packages/sdk/src/client/non-interning-parser.ts":
    "what was picked out of an object that is bounded",
  "packages/sdk/src/informer/key-prefixes.ts": own,
  "packages/sdk/src/informer/object-table.ts":
    "objects that an informer keeps, which its client has bounded",
  "packages/sdk/src/kubeconfig/":
    "kubeconfigs have 16 million characters at most, those of tenants 256 KiB",
  "packages/sdk/src/transport/decoded-body.ts": "a stream, whose reader counts what comes out",
  "packages/sdk/src/transport/stream-body.ts": counted,
  "packages/sdk/src/websocket/": counted,
  "packages/tenancy/src/api-sharing/kinds/versions.ts": annotations,
  "packages/apiserver/src/audit/audit.ts": counted,
  "packages/apiserver/src/audit/event-buffer.ts": own,
  "packages/apiserver/src/authorization/rbac/effective-users.ts":
    "the extras of a user, which headers and tokens bound",
  "packages/apiserver/src/backup/":
    "a backup is the operator's, and its records have 64 MiB at most",
  "packages/apiserver/src/content/pretty.ts": own,
  "packages/apiserver/src/content/yaml.ts": "the reader of YAML, which counts nodes and characters",
  "packages/apiserver/src/custom-resources/shared-definition.ts":
    "it unpacks what this process packed",
  "packages/apiserver/src/handlers/converted-watch.ts": stored,
  "packages/apiserver/src/handlers/item-list.ts": own,
  "packages/apiserver/src/http/": counted,
  "packages/apiserver/src/http2/": counted,
  "packages/apiserver/src/openapi/": own,
  "packages/apiserver/src/replication/": "frames have 64 MiB at most, and come from the primary",
  "packages/cli/src/operations/workspace-content.ts": "a backup is the operator's",
  "packages/apiserver/src/storage/": stored,
  "packages/apiserver/src/grpc/": "answers of etcd and of plug-ins, within responseBytesMax",
  "packages/apiserver/src/stored-object/": stored,
  "packages/tenancy/src/workspaces/workspace-owner.ts": annotations,
  "packages/tenancy/src/shards/cluster-mover.ts": stored,
  "packages/tenancy/src/shards/move-destination.ts": sibling,
  "packages/tenancy/src/shards/move-wire.ts": sibling,
  "packages/tenancy/src/shards/link-client.ts": sibling,
  "packages/tenancy/src/shards/link-frames.ts": sibling,
  "packages/tenancy/src/shards/link-server.ts": sibling,
  "packages/tenancy/src/shards/shard-operations.ts": sibling,
  "packages/apiserver/src/watch-cache/": own,
};

/** In what users run; a line of the list that nothing needs any more is found as well. */
export function unboundedInputs(
  tree: SourceTree,
  allowed: Readonly<Record<string, string>> = boundless,
): string[] {
  const used = new Set<string>();
  const found: string[] = [];
  for (const file of tree.files.values()) {
    if (!tree.production().has(file.path) || !file.path.startsWith("packages/")) continue;
    if (room.some((prefix) => file.path.startsWith(prefix))) continue;
    const findings = findingsIn(file);
    const reason = Object.keys(allowed).find((prefix) => file.path.startsWith(prefix));
    if (reason === undefined) found.push(...findings);
    else if (findings.length > 0) used.add(reason);
  }
  const unused = Object.keys(allowed).filter((prefix) => !used.has(prefix));
  return [
    ...found,
    ...unused.map((prefix) => `${prefix}: is bounded or gone, drop it from the list`),
  ];
}

function findingsIn(file: SourceFile): string[] {
  return unbounded.flatMap(({ pattern, instead }) =>
    [...file.code.matchAll(pattern)].map(
      ({ 0: text, index }) =>
        `${file.path}:${lineOf(file.code, index)}: no ${text}: whose input is it? Name its bound: ${instead}`,
    ),
  );
}
