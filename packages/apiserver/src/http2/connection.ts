/**
 * The server side of one HTTP/2 connection (RFC 9113): bytes in, bytes out, requests to the
 * handler. It uses no sockets.
 *
 * Why an own implementation: Node's costs some 30 us of its one thread per request, in objects and
 * events that this server does not need; this costs about 6 (docs/adr/0008). It omits features that
 * an API server does not use: push, priorities, CONNECT, response trailers.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import {
  eventLoopLimits,
  type InboundBudget,
  type OutboundBudget,
  QueuedStreams,
  type UnreadResponseBudget,
} from "../event-loop/index.ts";
import {
  checkGoAway,
  checkLength,
  dependsOnItself,
  type Frame,
  type HeaderBlock,
  HeaderBlocks,
  isIdle,
  isTrailer,
  protocolError,
  readHead,
  unpadded,
} from "./frame-reader.ts";
import { HeaderDecoder, type HeaderField } from "./hpack.ts";
import { AbuseBudget, Arrivals, ClosedStreams, Inbound } from "./inbound.ts";
import { Outbound } from "./outbound.ts";
import {
  ConnectionError,
  type ErrorCode,
  errorCode,
  flag,
  frameHeadBytes,
  frameType,
  setting,
  windowDefault,
  windowMax,
} from "./protocol.ts";
import { ServerStream, type StreamConnection } from "./server-stream.ts";
import { readSettings, writeSettings } from "./settings.ts";

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
  /** Shared by the connections of a listener. */
  readonly inbound: InboundBudget;
  readonly outbound: OutboundBudget;
  readonly unread: UnreadResponseBudget;
  /** Pauses and resumes reading from the socket. */
  readonly setReadPaused: (isHeld: boolean) => void;
  /** Called for a new request; its body may still be in flight. */
  readonly onStream: (stream: ServerStream) => void;
  /**
   * False when the bytes did not leave at once; `drained` must be called when they have, and `done`
   * when the bytes are no longer needed.
   */
  readonly write: (bytes: Uint8Array, done?: () => void) => boolean;
  /** No more bytes will be written. */
  readonly end: () => void;
  /** Called when the peer violated the protocol. */
  readonly onError: (error: Error) => void;
}

export interface ConnectionLimits {
  readonly headerBytesMax: number;
  readonly headerPairsMax: number;
  readonly streamsPerConnectionMax: number;
}

/** The bytes of a body that a client may send before the handler reads any. */
export const streamWindowBytes = 1 << 20;
/** The same limit for all bodies of a connection together. */
export const connectionWindowBytes = 8 << 20;
/** WINDOW_UPDATE frames that a client may send before its first request or response. */
const windowUpdatesFree = 16;

const { awaitedBodyBytesMax, closedPerTurnMax, controlFramesPerUnit } = eventLoopLimits.inbound;

export class Connection implements StreamConnection {
  readonly #options: ConnectionOptions;
  readonly #in: Inbound;
  readonly #blocks: HeaderBlocks;
  readonly #decoder = new HeaderDecoder();
  readonly #out: Outbound;
  readonly #abuse: AbuseBudget;
  readonly #streams = new Map<number, ServerStream>();
  readonly #closedStreams = new ClosedStreams();
  readonly #pendingBodies: Arrivals;
  readonly queued: QueuedStreams<ServerStream>;
  #hasSentSettings = false;
  #isClosed = false;
  #isDraining = false;
  #lastStreamId = 0;
  #seenStreamId = 0;
  #windowUpdates = 0;
  #streamSendWindow = windowDefault;
  #receiveWindow = connectionWindowBytes;
  /** Consumed bytes of bodies that the peer has no WINDOW_UPDATE for yet. */
  #consumedBytes = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#blocks = new HeaderBlocks(options.limits.headerBytesMax);
    this.#abuse = new AbuseBudget(options.clock);
    this.#pendingBodies = new Arrivals(options.clock, options.inbound);
    this.#in = new Inbound({
      budget: options.inbound,
      resumeReading: () => this.#resumeReading(),
      setReadPaused: options.setReadPaused,
    });
    this.#out = new Outbound({
      budget: options.outbound,
      write: options.write,
      onResponseSent: this.#onResponseSent,
      onPeerNotReading: () => this.#abort(new Error("the client does not read what it is sent")),
    });
    const { unread, inbound } = options;
    this.queued = new QueuedStreams({ unread, inbound, begin: this.#begin });
    this.#sendSettings(options.limits);
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  /** Whether a stream is open, or was opened since the last call. */
  wasActive(): boolean {
    const isBusy = this.#streams.size > 0 || this.#lastStreamId !== this.#seenStreamId;
    this.#seenStreamId = this.#lastStreamId;
    return isBusy;
  }

  /** Processes bytes from the peer. */
  receive(bytes: Buffer): void {
    if (this.#isClosed) return;
    this.#in.push(bytes);
    this.#resumeReading();
  }

  #resumeReading(): void {
    if (this.#isClosed) return;
    this.#out.isInTurn = true;
    try {
      // A frame may end the connection.
      for (let frame = this.#in.next(); frame !== undefined; frame = this.#in.next()) {
        this.#onFrame(frame);
        if (this.#isClosed) return;
      }
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      this.#out.goAway(this.#lastStreamId, error.code);
      this.#abort(error);
    } finally {
      this.#out.isInTurn = false;
      this.#out.flush();
    }
  }

  /** Called when the written bytes have left. */
  drained(): void {
    this.#out.drained();
  }

  /** Accepts no new requests; ends when the open ones are answered. */
  drain(): void {
    if (this.#isDraining || this.#isClosed) return;
    this.#isDraining = true;
    this.#out.goAway(this.#lastStreamId, errorCode.noError);
    this.#endWhenIdle();
  }

  /** Called when the peer is gone. */
  closed(): void {
    this.#isClosed = true;
    this.#pendingBodies.cancel();
    this.#in.closed();
    this.#out.clear();
    this.queued.clear();
    this.#closeStreamsInBatches();
  }

  /**
   * Ending a watch takes some ten microseconds, and clients with hundreds of watches disconnect at
   * once.
   */
  readonly #closeStreamsInBatches = (): void => {
    let left = closedPerTurnMax;
    for (const stream of this.#streams.values()) {
      if (left-- === 0) {
        this.#options.inbound.spend(closedPerTurnMax);
        this.#options.inbound.wait(this.#closeStreamsInBatches);
        return;
      }
      this.#streams.delete(stream.id);
      if (stream.isExecuting) this.#in.responded(stream);
      stream.close();
    }
  };

  ready(stream: ServerStream): void {
    if (stream.isExecuting) this.#in.responded(stream);
    if (!this.#isClosed) this.#out.ready(stream);
  }

  consumed(stream: ServerStream, bytes: number): void {
    this.#returnWindow(bytes);
    stream.consumedBytes += bytes;
    if (stream.isReceived || stream.consumedBytes < streamWindowBytes / 4) return;
    this.#out.windowUpdate(stream.id, stream.consumedBytes);
    stream.consumedBytes = 0;
  }

  reset(stream: ServerStream, code: ErrorCode): void {
    this.#out.reset(stream.id, code);
    this.#close(stream);
  }

  proceed(stream: ServerStream): void {
    this.#out.sendInformational(stream, 100);
  }

  waitForBody(stream: ServerStream): boolean {
    return this.#pendingBodies.add(stream);
  }

  bodyArrived(stream: ServerStream): void {
    this.#pendingBodies.delete(stream);
  }

  #onFrame(frame: Frame): void {
    if (!this.#hasSentSettings) {
      if (frame.type !== frameType.settings || (frame.flags & flag.ack) !== 0)
        throw protocolError("settings come first");
      this.#hasSentSettings = true;
    }
    const isContinued = this.#blocks.open !== undefined;
    if (isContinued || frame.type === frameType.headers) {
      const block = isContinued ? this.#blocks.goOn(frame) : this.#blocks.begin(frame);
      if (block !== undefined) this.#onBlock(block);
    } else if (frame.type === frameType.data) this.#onData(frame);
    else {
      this.#in.spend(1 / controlFramesPerUnit);
      this.#onControl(frame);
    }
  }

  #onControl(frame: Frame): void {
    if (frame.type === frameType.windowUpdate) this.#onWindowUpdate(frame);
    else if (frame.type === frameType.resetStream) this.#onReset(frame);
    else if (frame.type === frameType.settings) this.#onSettings(frame);
    else if (frame.type === frameType.ping) this.#onPing(frame);
    else if (frame.type === frameType.pushPromise || frame.type === frameType.continuation)
      throw protocolError(`a frame of type ${frame.type} out of place`);
    else {
      // PRIORITY, GOAWAY and unknown frames are ignored when they are well-formed, within the abuse
      // budget.
      this.#abuse.spend();
      if (frame.type === frameType.priority) this.#onPriority(frame);
      else if (frame.type === frameType.goAway) checkGoAway(frame);
    }
  }

  /** An invalid PRIORITY is an error of its stream; when that is not open, the connection ends. */
  #onPriority({ streamId, payload }: Frame): void {
    if (streamId === 0) throw protocolError("a priority of the connection");
    const code = payload.length !== 5 ? errorCode.frameSizeError : errorCode.protocolError;
    if (payload.length === 5 && !dependsOnItself(streamId, payload)) return;
    const stream = this.#streams.get(streamId);
    if (stream === undefined) throw new ConnectionError(code, "a priority that makes no sense");
    this.reset(stream, code);
  }

  /**
   * Every block is decoded, also of refused requests: both sides must keep the same HPACK table.
   */
  #onBlock({ streamId, isEnd, isSelfDependent, payload }: HeaderBlock): void {
    const { headerBytesMax, headerPairsMax, streamsPerConnectionMax } = this.#options.limits;
    const fields = this.#decoder.decode(payload, headerBytesMax, headerPairsMax);
    const open = this.#streams.get(streamId);
    if (open !== undefined) this.#onTrailers(open, isSelfDependent ? undefined : fields, isEnd);
    else if (streamId <= this.#lastStreamId) {
      this.#abuse.spend();
      this.#onClosedStreamFrame(streamId);
    } else {
      this.#lastStreamId = streamId;
      if (isSelfDependent) this.#refuse(streamId, isEnd, errorCode.protocolError);
      else if (fields === undefined) this.#refuse(streamId, isEnd, errorCode.enhanceYourCalm);
      else if (this.#isDraining || this.#streams.size >= streamsPerConnectionMax)
        this.#refuse(streamId, isEnd, errorCode.refusedStream);
      else this.#open(streamId, fields, isEnd);
    }
  }

  /** A frame for a closed stream (RFC 9113, 5.1). */
  #onClosedStreamFrame(streamId: number): void {
    const end = this.#closedStreams.find(streamId, this.#lastStreamId);
    if (end === "ended")
      throw new ConnectionError(errorCode.streamClosed, "a stream goes on after its end");
    if (end === "skipped") throw protocolError("a stream that was passed over");
    if (end === "reset") this.#out.reset(streamId, errorCode.streamClosed);
  }

  #open(streamId: number, fields: readonly HeaderField[], isEnd: boolean): void {
    const head = readHead(fields);
    if (head === undefined || (isEnd && (head.contentLength ?? 0) > 0)) {
      this.#refuse(streamId, isEnd, errorCode.protocolError);
      return;
    }
    const stream = new ServerStream(streamId, head, this, this.#streamSendWindow, isEnd);
    this.#streams.set(streamId, stream);
    this.#in.spend(1);
    this.queued.add(stream);
  }

  readonly #begin = (stream: ServerStream): void => {
    this.#options.onStream(stream);
    if (stream.isReceived && !stream.isClosed) this.#in.received(stream);
  };

  /** Ends the responses without progress for `looksMax` checks. */
  endStalled(looksMax: number): void {
    for (const stream of this.#streams.values())
      if (stream.checkProgress() >= looksMax) this.reset(stream, errorCode.cancel);
  }

  /** Undefined for malformed trailers. */
  #onTrailers(
    stream: ServerStream,
    fields: readonly HeaderField[] | undefined,
    isEnd: boolean,
  ): void {
    if (stream.isReceived) {
      this.reset(stream, errorCode.streamClosed);
      return;
    }
    const isProper = isEnd && fields !== undefined && isTrailer(fields);
    const code = isProper ? stream.receive(noBytes, 0, true) : errorCode.protocolError;
    if (code !== undefined) this.reset(stream, code);
    else this.#in.received(stream);
  }

  #onData(frame: Frame): void {
    const { streamId, flags, payload } = frame;
    if (isIdle(streamId, this.#lastStreamId)) throw protocolError("data outside of a request");
    const body = unpadded(frame);
    this.#receiveWindow -= payload.length;
    if (this.#receiveWindow < 0)
      throw new ConnectionError(errorCode.flowControlError, "more data than was allowed");
    const isEnd = (flags & flag.endStream) !== 0;
    if (body.length === 0 && !isEnd) this.#abuse.spend();
    const stream = this.#streams.get(streamId);
    this.#in.spendBytes(payload.length + frameHeadBytes);
    if (stream === undefined || stream.isReceived) {
      this.#returnWindow(payload.length);
      if (stream !== undefined) this.reset(stream, errorCode.streamClosed);
      else this.#onClosedStreamFrame(streamId);
      return;
    }
    // The request has not begun, and does not before the client reads other responses: the client
    // may retry it later, and it holds nothing until then.
    if (stream.isQueued && stream.receivedBytes + body.length > awaitedBodyBytesMax) {
      this.#returnWindow(payload.length);
      this.reset(stream, errorCode.refusedStream);
      return;
    }
    const code = stream.receive(body, payload.length, isEnd);
    if (code !== undefined) this.reset(stream, code);
    else if (isEnd) this.#in.received(stream);
  }

  #onReset(frame: Frame): void {
    checkLength(frame, 4);
    if (isIdle(frame.streamId, this.#lastStreamId)) throw protocolError("a reset of nothing");
    this.#abuse.spend();
    const stream = this.#streams.get(frame.streamId);
    if (stream !== undefined) this.#close(stream, "reset");
  }

  #onSettings(frame: Frame): void {
    const { payload, flags, streamId } = frame;
    if (streamId !== 0) throw protocolError("settings of a stream");
    this.#abuse.spend();
    if ((flags & flag.ack) !== 0) {
      checkLength(frame, 0);
      return;
    }
    const windowBefore = this.#streamSendWindow;
    readSettings(payload, {
      headerTableSize: (bytes) => this.#out.encoder.resize(bytes),
      initialWindowSize: (bytes) => {
        this.#streamSendWindow = bytes;
      },
    });
    this.#out.sendControlFrame(frameType.settings, flag.ack, 0, noBytes);
    // The data for the wider windows is sent after the acknowledgement: before it, the peer counts
    // by the old ones.
    const change = this.#streamSendWindow - windowBefore;
    if (change === 0) return;
    this.#in.spend(this.#streams.size / controlFramesPerUnit);
    for (const stream of this.#streams.values()) this.#out.increaseStreamWindow(stream, change);
  }

  #onPing(frame: Frame): void {
    checkLength(frame, 8);
    if (frame.streamId !== 0) throw protocolError("a ping of a stream");
    this.#abuse.spend();
    if ((frame.flags & flag.ack) !== 0) return;
    this.#out.sendControlFrame(frameType.ping, flag.ack, 0, frame.payload);
  }

  #onWindowUpdate(frame: Frame): void {
    checkLength(frame, 4);
    // Two for each DATA frame, one for each request, and a few more are useful: further ones are
    // noise.
    const isNoise =
      ++this.#windowUpdates > 2 * this.#out.dataFrames + this.#lastStreamId + windowUpdatesFree;
    if (isNoise || this.#out.hadTinyDataFrames()) this.#abuse.spend();
    const { streamId } = frame;
    const bytes = frame.payload.readUInt32BE(0) & windowMax;
    if (streamId === 0) {
      this.#out.increaseWindow(bytes);
      return;
    }
    if (isIdle(streamId, this.#lastStreamId)) throw protocolError("a window of nothing");
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    if (bytes === 0) this.reset(stream, errorCode.protocolError);
    else if (stream.sendWindow + bytes > windowMax) this.reset(stream, errorCode.flowControlError);
    else this.#out.increaseStreamWindow(stream, bytes);
  }

  readonly #onResponseSent = (stream: ServerStream): void => {
    stream.isResponseSent = true;
    this.#abuse.regain();
    if (stream.isReceived) this.#close(stream);
    // The rest of an unwanted body is not awaited (RFC 9113, 8.1). Node's client loses the end of a
    // stream whose reset comes with its response, so the reset is sent a turn later.
    else setImmediate(() => stream.reset(errorCode.noError));
  };

  #close(stream: ServerStream, how: "reset" | "cut" = "cut"): void {
    this.#streams.delete(stream.id);
    this.#closedStreams.add(stream.id, stream.isReceived ? "ended" : how);
    if (stream.isQueued) this.queued.delete(stream);
    if (stream.isExecuting) this.#in.responded(stream);
    if (!stream.isResponseSent) this.#out.remove(stream);
    const unconsumedBytes = stream.close();
    if (unconsumedBytes > 0) this.#returnWindow(unconsumedBytes);
    if (this.#isDraining) this.#endWhenIdle();
  }

  /** Returns the window of consumed bytes to the peer, in large steps. */
  #returnWindow(bytes: number): void {
    this.#consumedBytes += bytes;
    if (this.#consumedBytes < connectionWindowBytes / 4 || this.#isClosed) return;
    this.#receiveWindow += this.#consumedBytes;
    this.#out.windowUpdate(0, this.#consumedBytes);
    this.#consumedBytes = 0;
  }

  #refuse(streamId: number, isEnd: boolean, code: ErrorCode): void {
    this.#abuse.spend();
    this.#closedStreams.add(streamId, isEnd ? "ended" : "cut");
    this.#out.reset(streamId, code);
  }

  #abort(error: Error): void {
    if (this.#isClosed) return;
    this.#options.onError(error);
    this.closed();
    this.#out.flush();
    this.#options.end();
  }

  #endWhenIdle(): void {
    if (this.#streams.size > 0 || this.#isClosed) return;
    this.#isClosed = true;
    this.#pendingBodies.cancel();
    this.#out.flush();
    this.#options.end();
  }

  #sendSettings({ headerBytesMax, streamsPerConnectionMax }: ConnectionLimits): void {
    const payload = writeSettings([
      [setting.maxConcurrentStreams, streamsPerConnectionMax],
      [setting.initialWindowSize, streamWindowBytes],
      [setting.maxHeaderListSize, headerBytesMax],
    ]);
    this.#out.sendControlFrame(frameType.settings, 0, 0, payload);
    this.#out.windowUpdate(0, connectionWindowBytes - windowDefault);
  }
}

const noBytes = Buffer.alloc(0);
