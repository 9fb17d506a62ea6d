/* SPDX-License-Identifier: GPL-2.0-only */
"use strict";
/* Draws each chart when it comes near the view, and marks the part of the page one is in. */
(() => {
	const read = (id) => JSON.parse(document.getElementById(id).textContent);
	const specs = read("chart-specs");
	const options = {
		mode: "vega-lite",
		renderer: "svg",
		actions: false,
		defaultStyle: false,
		config: read("chart-config"),
		tooltip: { theme: "page", disableDefaultStyle: true },
	};

	const draw = async (plot) => {
		if (plot.dataset.state)
			return;
		plot.dataset.state = "drawing";
		try {
			await vegaEmbed(plot, specs[plot.id], options);
			plot.dataset.state = "drawn";
		} catch (error) {
			plot.dataset.state = "failed";
			plot.textContent = "This chart could not be drawn; the tables hold its figures.";
			console.error(plot.id, error);
		}
	};

	const plots = document.querySelectorAll(".plot");
	const near = new IntersectionObserver((entries) => {
		for (const entry of entries.filter((each) => each.isIntersecting)) {
			near.unobserve(entry.target);
			draw(entry.target);
		}
	}, { rootMargin: "600px 0px" });
	plots.forEach((plot) => near.observe(plot));
	addEventListener("beforeprint", () => plots.forEach(draw));

	const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
	let current = null;
	const follow = new IntersectionObserver((entries) => {
		const shown = entries.filter((each) => each.isIntersecting).pop();
		const link = shown && links.get(shown.target.id);
		if (!shown || link === current)
			return;
		current?.removeAttribute("aria-current");
		current = link;
		if (!link)
			return; /* above the first section */
		link.setAttribute("aria-current", "true");
		const list = link.closest("ul");
		list.scrollTo({ left: link.offsetLeft - list.clientWidth / 3, top: link.offsetTop - list.clientHeight / 3 });
	}, { rootMargin: "-15% 0px -75% 0px" });
	document.querySelectorAll("main > header, main > section").forEach((section) => follow.observe(section));
})();
