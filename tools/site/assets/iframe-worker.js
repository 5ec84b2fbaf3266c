// Browsers start no worker from a page that was opened as a file. There the search runs in a hidden frame instead.

"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.onmessage = null;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      this.frame.srcdoc = "<!doctype html><title>search</title>";
      this.frame.addEventListener("load", () => this.begin(new URL(address, location.href).href), { once: true });
      document.body.append(this.frame);
    }

    // The worker's script finds what a worker's scope has: postMessage, importScripts and its own listeners.
    begin(address) {
      const scope = this.frame.contentWindow;
      scope.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      const load = (from) => new Promise((done, failed) => {
        const script = scope.document.createElement("script");
        script.src = from;
        script.onload = done;
        script.onerror = () => failed(new Error(from));
        scope.document.body.append(script);
      });
      scope.importScripts = (...all) => all.reduce((before, from) => before.then(() => load(new URL(from, address).href)), Promise.resolve());
      load(address).then(() => {
        this.ready = true;
        this.waiting.forEach((data) => this.deliver(data));
        this.waiting = [];
      });
    }

    deliver(data) {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    postMessage(data) {
      if (this.ready) this.deliver(data);
      else this.waiting.push(data);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
