// Browsers refuse web workers on pages that are opened from a file. This runs the worker's script in a hidden frame
// instead, so that the search of the docs works without a server.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inner = frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source === this.inner) this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      });
      const load = (...urls) =>
        Promise.all(
          urls.map(
            (one) =>
              new Promise((resolve, reject) => {
                const script = document.createElement("script");
                Object.assign(script, { src: one, onload: resolve, onerror: reject });
                document.head.appendChild(script);
              }),
          ),
        );
      const inside = this.inner.document;
      inside.open();
      inside.write(
        "<html><head></head><body>" +
          `<script>postMessage = (data) => parent.postMessage(data, "*"); importScripts = ${load}</` +
          `script><script src="${url}"></` +
          "script></body></html>",
      );
      inside.close();
      this.ready = new Promise((resolve) => this.inner.addEventListener("load", resolve, { once: true }));
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
