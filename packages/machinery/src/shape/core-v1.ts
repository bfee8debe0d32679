/** The shapes of the core group's kinds. Numbers are those of the published protobuf files. */
import { objectMeta } from "./meta.ts";
import { bool, bytes, list, listMap, map, message, string, time } from "./shape.ts";

const core = "io.k8s.api.core.v1";

export const configMap = message(
  `${core}.ConfigMap`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    data: [2, map(string), "Configuration as text. Keys are file names."],
    binaryData: [3, map(bytes), "Configuration that is not UTF-8, in base64."],
    immutable: [4, bool, "When true, only metadata can be changed from then on."],
  },
  "Configuration for others to read.",
);

export const secret = message(
  `${core}.Secret`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    data: [2, map(bytes), "The secret data, in base64. Keys are file names."],
    type: [3, string, "What the data is for; decides which keys must be there."],
    stringData: [4, map(string), "Write-only: text that is merged into data."],
    immutable: [5, bool, "When true, only metadata can be changed from then on."],
  },
  "Data that fewer eyes may see.",
);

const namespaceCondition = message(`${core}.NamespaceCondition`, {
  type: [1, string, "What the condition is about."],
  status: [2, string, "True, False or Unknown."],
  lastTransitionTime: [4, time, "When the status last changed."],
  reason: [5, string, "A word for programs."],
  message: [6, string, "A sentence for people."],
});

export const namespace = message(
  `${core}.Namespace`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [
      2,
      message(`${core}.NamespaceSpec`, {
        finalizers: [1, list(string), "What must be emptied before the namespace goes."],
      }),
    ],
    status: [
      3,
      message(`${core}.NamespaceStatus`, {
        phase: [1, string, "Active or Terminating."],
        conditions: [2, listMap(namespaceCondition, "type"), "How far deletion has come."],
      }),
    ],
  },
  "A scope for names, access and quotas.",
);
