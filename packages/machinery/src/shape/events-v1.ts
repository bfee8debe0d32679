/** The shape of events.k8s.io/v1, the second view on events. Numbers are those of the published protobuf files. */
import { eventSeriesFields, eventSource, objectReference } from "./core-v1.ts";
import { objectMeta } from "./meta.ts";
import { int32, message, microTime, string, time } from "./shape.ts";

const events = "io.k8s.api.events.v1";

export const eventsV1Event = message(
  `${events}.Event`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    eventTime: [2, microTime, "When it was first observed."],
    series: [
      3,
      message(`${events}.EventSeries`, eventSeriesFields, "Repetitions of one event.", {
        required: ["count", "lastObservedTime"],
      }),
      "What is known of its repetitions; absent when it happened once.",
    ],
    reportingController: [4, string, "The controller that reported."],
    reportingInstance: [5, string, "The instance of that controller."],
    action: [6, string, "What was done, or failed, regarding the object."],
    reason: [7, string, "A word for programs: why the action was taken."],
    regarding: [8, objectReference, "The object that the event is about."],
    related: [9, objectReference, "A second object, for more complex actions."],
    note: [10, string, "A sentence for people."],
    type: [11, string, "Normal or Warning."],
    deprecatedSource: [12, eventSource, "As source in the core API."],
    deprecatedFirstTimestamp: [13, time, "As firstTimestamp in the core API."],
    deprecatedLastTimestamp: [14, time, "As lastTimestamp in the core API."],
    deprecatedCount: [15, int32, "As count in the core API."],
  },
  "A report of something that happened to an object. Events are kept for a short time only.",
  { required: ["eventTime"] },
);
