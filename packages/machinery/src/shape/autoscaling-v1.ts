/** The shape of Scale, which is what clients of a scale subresource see of any kind. Numbers are those of the published protobuf files. */
import { objectMeta } from "./meta.ts";
import { int32, message, string } from "./shape.ts";

const autoscaling = "io.k8s.api.autoscaling.v1";

export const scale = message(
  `${autoscaling}.Scale`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [
      2,
      message(`${autoscaling}.ScaleSpec`, {
        replicas: [1, int32, "The wanted number of replicas."],
      }),
    ],
    status: [
      3,
      message(`${autoscaling}.ScaleStatus`, {
        replicas: [1, int32, "The present number of replicas."],
        selector: [2, string, "The label selector of the replicas, as text."],
      }),
    ],
  },
  "How many there are of something, and how many there should be.",
);
