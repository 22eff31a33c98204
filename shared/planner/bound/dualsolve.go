package bound

import (
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/lp"
)

// start makes the program. Each bucket is alone on the offering that is cheapest for it.
func (d *Dual) start() {
	d.program = &lp.Program{}
	for _, b := range d.Buckets {
		d.program.AddRow(b.count, false)
	}
	d.stockRows = make([]int32, len(d.index.Stocks))
	for i := range d.stockRows {
		d.stockRows[i] = d.program.AddRow(float64(d.index.Stocks[i].Left)/d.unit(i), true)
	}
	best, most := make([]int, len(d.Buckets)), make([]float64, len(d.Buckets))
	for j := range d.Offerings {
		o := &d.Offerings[j]
		if d.index.Offerings[o.Offering].Stock >= 0 {
			continue
		}
		cost := d.cost(o.Offering)
		for n, i := range o.Fits {
			if units := unitsIn(o.Needs[n*len(o.Free):(n+1)*len(o.Free)], o.Free) / cost; units > most[i] {
				best[i], most[i] = j, units
			}
		}
	}
	for i := range d.Buckets {
		if most[i] > 0 {
			o := &d.Offerings[best[i]]
			d.addFilling(o, []int32{int32(i)}, []float64{unitsIn(o.needOf(i), o.Free)})
		}
	}
	d.program.Start()
}

// addFilling adds a filling of the offering to the program.
func (d *Dual) addFilling(o *WeightedOffering, rows []int32, entries []float64) {
	if at := d.index.Offerings[o.Offering].Stock; at >= 0 {
		rows, entries = append(rows, d.stockRows[at]), append(entries, d.takes(o.Offering))
	}
	column := lp.Column{Cost: d.cost(o.Offering), Rows: rows, Entries: entries}
	d.program.Columns = append(d.program.Columns, column)
}

// generator solves the program by column generation. It fills each offering for certain target
// prices of the buckets. The weights of that filling prove a bound; a filling that is worth more
// than the node costs joins the program.
type generator struct {
	*Dual
	knapsack *lp.Knapsack
	// targets are the buckets' prices that offerings are filled for.
	targets []float64
	// prices are the buckets' dual prices by the last weights, bestPrices by the best ones so far.
	prices, bestPrices []float64
	bestStockPrices    []float64
	// bound is the greatest so far.
	bound float64
}

// solve generates columns until the bound is close to the program's cost, which no bound exceeds.
// It reports whether uniform weights give a bound about as good; the offerings have uniform weights
// then.
func (d *Dual) solve() bool {
	buckets := len(d.Buckets)
	g := &generator{
		Dual: d, targets: make([]float64, buckets), prices: make([]float64, buckets),
		bestPrices: make([]float64, buckets), bestStockPrices: slices.Clone(d.StockPrices),
		bound: math.Inf(-1),
	}
	// The program's prices swing, so targets lie between them and the best prices so far.
	smoothing := 0.0
	uniform := d.solveUniform(g.prices)
	if uniform > 0 {
		g.keepBest(uniform)
		smoothing = dualSmoothing
	}
	g.knapsack = lp.NewKnapsack(d.Width() + len(d.Axes)*maxStepParts)
	smooth := smoothing
	for range dualRounds {
		d.program.Optimise()
		cost := d.program.Cost()
		if cost*(1-uniformGap) <= uniform {
			d.weighUniformly()
			return true
		}
		if cost*(1-dualGap) <= g.bound {
			break
		}
		g.readTargets(smooth)
		added := g.fillOfferings()
		g.keepBest(d.evaluate(g.prices))
		if !added && smooth == 0 {
			break
		}
		if smooth = 0; added {
			smooth = smoothing
		}
	}
	g.restoreBest()
	return false
}

// readTargets mixes the best prices so far with the program's.
func (g *generator) readTargets(smooth float64) {
	for i := range g.targets {
		mixed := float64(smooth*g.bestPrices[i]) + float64((1-smooth)*g.program.DualPrices[i])
		// Less than a billionth of a dollar is nothing: rounding alone makes such prices.
		if g.targets[i] = mixed; mixed < 1e-9 {
			g.targets[i] = 0
		}
	}
	for i, row := range g.stockRows {
		g.StockPrices[i] = float64(smooth*g.bestStockPrices[i]) +
			float64((1-smooth)*max(-g.program.DualPrices[row], 0))
	}
}

// fillOfferings fills each offering for the targets, and reports whether a filling joined the
// program.
func (g *generator) fillOfferings() bool {
	added := false
	for j := range g.Offerings {
		o := &g.Offerings[j]
		price := g.price(o.Offering)
		if g.knapsack.NoGain(&o.Bin, g.targets, price, dualGap/8) {
			continue
		}
		g.knapsack.Solve(&o.Bin, g.targets)
		if o.Value <= 0 {
			o.scaleTo(price)
		}
		if o.Value > price*(1+dualGap/4) && g.pays(o) {
			rows, entries := g.knapsack.Filling(&o.Bin)
			g.addFilling(o, rows, entries)
			added = true
		}
	}
	return added
}

// pays reports whether the filling in the knapsack is worth more than it costs at the program's own
// prices.
func (g *generator) pays(o *WeightedOffering) bool {
	value := g.knapsack.ValueAt(&o.Bin, g.program.DualPrices)
	cost := g.cost(o.Offering)
	if at := g.index.Offerings[o.Offering].Stock; at >= 0 {
		cost -= float64(g.takes(o.Offering) * g.program.DualPrices[g.stockRows[at]])
	}
	return value > cost*(1+dualGap/8)
}

// keepBest remembers prices and weights if their bound is the greatest so far. The weights are
// scaled such that a whole node weighs what it costs.
func (g *generator) keepBest(bound float64) {
	if bound <= g.bound {
		return
	}
	g.bound, g.prices, g.bestPrices = bound, g.bestPrices, g.prices
	copy(g.bestStockPrices, g.StockPrices)
	for j := range g.Offerings {
		o := &g.Offerings[j]
		factor := g.price(o.Offering) / o.Value
		o.best = append(o.best[:0], o.Weights...)
		for a := range o.best {
			o.best[a] *= factor
		}
	}
}

// restoreBest gives the offerings the weights of the greatest bound.
func (g *generator) restoreBest() {
	copy(g.StockPrices, g.bestStockPrices)
	for j := range g.Offerings {
		o := &g.Offerings[j]
		copy(o.Weights, o.best)
		o.Value = g.price(o.Offering)
	}
}

// evaluate fills in the dual prices of the buckets: the least that a unit weighs on an offering
// that can hold it. It returns the bound: what all units are worth, less the price of all stocks.
func (d *Dual) evaluate(prices []float64) float64 {
	for i := range prices {
		prices[i] = math.Inf(1)
	}
	for j := range d.Offerings {
		o := &d.Offerings[j]
		factor := d.price(o.Offering) / o.Value
		w := len(o.Free)
		for n, i := range o.Fits {
			prices[i] = min(prices[i], lp.Dot(o.Weights, o.Needs[n*w:n*w+w])*factor)
		}
	}
	total := 0.0
	for i, b := range d.Buckets {
		if math.IsInf(prices[i], 1) {
			prices[i] = 0
		}
		total += float64(prices[i] * b.count)
	}
	for at, price := range d.StockPrices {
		total -= float64(price * float64(d.index.Stocks[at].Left) / d.unit(at))
	}
	return total
}

// cost is the offering's price; never zero, so that values can be divided by it.
func (d *Dual) cost(offering int) float64 {
	return max(d.index.Offerings[offering].Price, 1e-9)
}

// price is the offering's price with the price of what it takes of its stock.
func (d *Dual) price(offering int) float64 {
	price := d.cost(offering)
	if at := d.index.Offerings[offering].Stock; at >= 0 {
		price += float64(d.takes(offering) * d.StockPrices[at])
	}
	return price
}

// takes is what a node of the offering takes of its stock, in the units of the stock's row: one for the offering that
// takes most.
func (d *Dual) takes(offering int) float64 {
	o := &d.index.Offerings[offering]
	return float64(o.Units) / d.unit(int(o.Stock))
}

// unit is how many units of the stock one is in the stock's row.
func (d *Dual) unit(stock int) float64 { return float64(max(d.index.Stocks[stock].Most, 1)) }
